"""The tools that every graph has, and those that its stored queries are."""
