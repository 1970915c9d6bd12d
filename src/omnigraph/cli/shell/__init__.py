"""`omnigraph shell`: queries and commands, typed one after the other."""
