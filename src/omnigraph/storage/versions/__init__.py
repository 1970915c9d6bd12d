"""What a table version names, and what changed between two."""
