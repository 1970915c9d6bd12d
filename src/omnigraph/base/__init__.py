"""The lowest layer: errors, ids, time, failpoints, settings, counters. Standard library only."""

from omnigraph.base.start.lean_dataclasses import make_dataclasses_lean

make_dataclasses_lean()
