"""The size and hash of every file of a table version, kept and compared."""
