"""`python -m simulation.control_plane`: run many histories, or show one (PYTHONPATH=src:tests)."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from simulation.control_plane import kernel
from simulation.control_plane.history import run_seed


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, help="show the history of one seed")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--histories", type=int, default=1_000)
    parser.add_argument("--theme")
    parser.add_argument("--stop", action="store_true", help="stop at the first that is wrong")
    parser.add_argument("--all", action="store_true", help="tell everything that is wrong with each")
    given = parser.parse_args()
    with kernel.simulated():
        if given.seed is not None:
            history = run_seed(given.seed, given.theme, traced=True)
            print(history.report())
            return bool(history.wrong)
        start, found, kinds = time.perf_counter(), 0, Counter[str]()
        steps = 0
        for seed in range(given.first, given.first + given.histories):
            history = run_seed(seed, given.theme)
            steps += history.steps
            if history.wrong:
                found += 1
                kinds[history.scenario.theme] += 1
                print(f"seed {seed} ({history.scenario.theme}): {history.wrong[0][:260]}", flush=True)
                if given.all:
                    print("\n".join(f"    also: {item[:260]}" for item in history.wrong[1:]))
                if given.stop:
                    break
        took = time.perf_counter() - start
        speed = f"{given.histories} histories, {steps} steps in {took:.1f} s: {given.histories / took:.0f}/s"
        print(f"{speed}; {found} wrong {dict(kinds)}")
    return bool(found)


sys.exit(main())
