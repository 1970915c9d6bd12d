"""The steps of a plan, each carried out on frames of rows."""
