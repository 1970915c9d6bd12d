"""Records from text: the strict reader, the fast one, cells of CSV."""
