"""What a fresh process leaves unloaded, and that pandas, once somebody imports it, is what it always was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph as og

CONVERSIONS = """
import numpy as np
import pyarrow as pa

def show(value):
    try:
        print(value())
    except Exception as error:
        print(type(error).__name__, error)

show(lambda: pa.array(pd.Series([1.0, float("nan")])))
show(lambda: pa.array([pd.NA, 1, None]))
show(lambda: pa.array([pd.NaT, pd.Timestamp("2020-02-03T04:05:06.000000007")]))
show(lambda: pa.array([pd.Timedelta(5, "ns")]))
show(lambda: pa.array([pd.DateOffset(months=2, days=1)]))
show(lambda: pa.array(pd.Categorical(["a", "b", None])))
show(lambda: pa.array(pd.Index([3, 4])))
show(lambda: pa.table(pd.DataFrame({"a": [1.5, None], "b": ["x", pd.NA], "c": pd.array([1, None], "Int64")})))
show(lambda: pa.Table.from_pandas(pd.DataFrame({"a": [1]}, index=["k"])).schema)
table = pa.table({"n": [1, None], "t": pa.array([1, 2], pa.timestamp("ns", "UTC")), "s": ["x", None]})
show(lambda: table.to_pandas().to_dict())
show(lambda: table.to_pandas().dtypes.to_dict())
show(lambda: table["t"][0].as_py())
show(lambda: [pd.__name__, pd.__spec__.name, type(pd.__loader__).__name__, pd._libs is not None])
show(lambda: [item for item in sys.meta_path if type(item).__module__.startswith("omnigraph")])
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_making_opening_and_reading_a_graph_loads_neither_pandas_nor_the_rest_client(tmp_path: Path) -> None:
    code = f"""
import sys
import omnigraph as og

graph = og.init({str(tmp_path / "g")!r}, "node P {{ uid: I64 @key }}\\nedge E: P -> P")
graph.mutate('query q() {{ insert P {{ uid: 1 }} insert E {{ from: "1", to: "1" }} }}')
graph = og.open({str(tmp_path / "g")!r})
asked = "query q($i: I64) {{ match {{ $p: P {{ uid: $i }} $p e $r }} return {{ $r.uid }} }}"
print(graph.query(asked, {{"i": 1}}).rows)
print([name for name in ("pandas", "lance_namespace", "pydantic", "pyspark") if name in sys.modules])
"""
    assert run(code).splitlines() == ["[{'r.uid': 1}]", "[]"]


@pytest.mark.long
def test_pandas_imported_later_converts_as_pandas_imported_first() -> None:
    first = run(f"import sys\nimport pandas as pd\n{CONVERSIONS}")
    later = run(f"import sys\nimport omnigraph.sdk.opening\nimport pandas as pd\n{CONVERSIONS}")
    assert "NaT" in first or "null" in first
    assert later == first


@pytest.mark.long
def test_a_result_becomes_a_data_frame_without_importing_pandas_first(tmp_path: Path) -> None:
    og.init(tmp_path / "g", "node P { uid: I64 @key }")
    code = f"""
import omnigraph as og

graph = og.open({str(tmp_path / "g")!r})
graph.mutate("query q() {{ insert P {{ uid: 7 }} }}")
print(graph.query("query q() {{ match {{ $p: P }} return {{ $p.uid }} }}").to_pandas().to_dict())
"""
    assert run(code).strip() == "{'p.uid': {0: 7}}"


@pytest.mark.long
def test_threads_that_import_pandas_meanwhile_get_all_of_it() -> None:
    code = """
import sys, threading

seen = []
def look():
    import pandas
    seen.append(hasattr(pandas, "DataFrame") and hasattr(pandas, "read_csv"))

threads = [threading.Thread(target=look) for _ in range(4)]
for thread in threads:
    thread.start()
import omnigraph.sdk.opening
for thread in threads:
    thread.join()
print(seen)
"""
    assert run(code).strip() == "[True, True, True, True]"
