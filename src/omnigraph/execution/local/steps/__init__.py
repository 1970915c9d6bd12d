"""The steps of a plan, executed on frames of rows."""
