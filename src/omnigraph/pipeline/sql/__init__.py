"""The SQL catalog of Spark: what the jar asks of a graph, and how it is attached to a session."""
