"""What can be said about a query file against a catalog: errors, warnings, and what each query does."""
