"""What users hold: a graph with its languages."""
