"""The schema language: text to syntax tree and back. What a schema means is the catalog's matter."""
