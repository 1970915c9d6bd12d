"""The schema language: text to syntax tree and back. The meaning of a schema is in `catalog`."""
