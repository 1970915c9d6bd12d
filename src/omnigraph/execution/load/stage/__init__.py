"""Records on their way into data files."""
