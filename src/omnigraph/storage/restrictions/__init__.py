"""What a reader may not see of tables, and tables without it."""
