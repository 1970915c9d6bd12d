"""How commits and their differences are shown to people: a drawn history, changes in colour."""
