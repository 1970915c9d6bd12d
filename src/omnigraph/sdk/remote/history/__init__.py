"""What happened to a served graph: commits, differences, the change feed."""
