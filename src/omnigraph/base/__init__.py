"""What all else stands on: errors, ids, time, failpoints, settings, counters. Standard library only."""
