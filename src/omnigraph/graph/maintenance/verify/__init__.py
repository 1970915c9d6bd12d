"""Reading a whole graph for damage, and reporting it."""
