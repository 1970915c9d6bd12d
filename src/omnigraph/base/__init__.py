"""The lowest layer: errors, ids, time, failpoints, settings, counters. Standard library only."""
