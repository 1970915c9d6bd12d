"""How commits, their differences and proposals are shown to people: a drawn history, changes in colour."""
