"""The example of a data team's pipeline does what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import omnigraph as og

EXAMPLE = Path(__file__).parents[2] / "examples" / "data_pipeline.py"


def test_a_night_is_refused_by_a_check_mended_and_merged_and_payments_land_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "loaded on spark {'Customer': 20, 'Order': 200}" in done.stdout
    assert "not merged [not_mergeable]: ['check_failed']" in done.stdout
    assert "batches that landed, newest first: ['1', '0']" in done.stdout
    graph = og.open(tmp_path / "shop")
    orders = "query q() { match { $o: Order } return { count($o) as n, max($o.cents) as most } }"
    assert graph.query(orders).first() == {"n": 200, "most": 89534}
    paid = "query q() { match { $p: Payment  $p pays $o } return { count($p) as n } }"
    assert graph.query(paid).scalar() == 40
