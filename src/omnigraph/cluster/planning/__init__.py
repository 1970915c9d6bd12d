"""From what is declared, recorded and observed to a list of changes; nothing here writes."""
