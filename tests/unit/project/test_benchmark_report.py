"""The report of the benchmarks: what it says of several runs, and what it says of those that did not run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def report() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_report", BENCHMARKS / "_report.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_report"] = module
    spec.loader.exec_module(module)
    return module


def told(ratio: float, aim: str = "<= 1.5") -> list[dict[str, object]]:
    row = {"name": "ours / floor", "ratio": ratio, "aim": aim, "facts": f"{ratio} ms, 1 ms"}
    return [{"title": "Commits", "rows": [row]}]


def test_several_runs_are_a_median_and_a_spread(report: ModuleType, tmp_path: Path) -> None:
    outcome = report.Outcome("commit.py", ("--small",))
    for ratio in (1.2, 0.9, 1.7):
        outcome.add(told(ratio))
    page = report.write_report([outcome], tmp_path).read_text()
    assert "| ours / floor | 1.20 | 0.90 – 1.70 | <= 1.5 | met | 1.7 ms, 1 ms |" in page
    assert "`benchmarks/commit.py --small`, 3 runs" in page
    assert "| processor | " in page


def test_a_ratio_that_is_beside_its_aim_is_missed_and_one_run_has_no_spread(
    report: ModuleType, tmp_path: Path
) -> None:
    outcome = report.Outcome("commit.py", ())
    outcome.add(told(0.7, ">= 1"))
    page = report.write_report([outcome], tmp_path).read_text()
    assert "| ours / floor | 0.70 | one run | >= 1 | missed |" in page


def test_what_did_not_run_is_told(report: ModuleType, tmp_path: Path) -> None:
    outcomes = [report.Outcome("a.py", (), error="ended when the time was up"), report.Outcome("b.py", ())]
    page = report.write_report(outcomes, tmp_path).read_text()
    assert "Not measured: ended when the time was up." in page
    assert "Not measured: no time was left." in page


def test_plots_are_pictures_with_a_bar_for_each_ratio(report: ModuleType, tmp_path: Path) -> None:
    outcome = report.Outcome("commit.py", ())
    outcome.add(told(12.0))
    outcome.add(told(0.01))
    report.write_report([outcome], tmp_path)
    picture = ElementTree.parse(tmp_path / "commit-0.svg").getroot()
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"ours / floor", "6.00", "1", "10", "0.01"} <= set(texts)


def test_programs_are_run_again_while_there_is_time(
    report: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "import json, os\n"
        "line = {'title': 'T', 'rows': [{'name': 'n', 'ratio': 2.0, 'aim': '', 'facts': ''}]}\n"
        "open(os.environ['OMNIGRAPH_BENCH_REPORT'], 'a').write(json.dumps(line) + '\\n')\n"
    )
    (tmp_path / "quick.py").write_text(program)
    (tmp_path / "broken.py").write_text("raise SystemExit('no disk')")
    monkeypatch.setattr(report, "FOLDER", tmp_path)
    quick, broken = report.run_all({"quick.py": (), "broken.py": ()}, minutes=1, most_runs=3)
    assert (quick.runs, quick.titles["T"]["n"].ratios) == (3, [2.0, 2.0, 2.0])
    assert (broken.runs, broken.error) == (0, "no disk")
