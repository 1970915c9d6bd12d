"""One node or edge: as a commit has it, and what became of it over time."""
