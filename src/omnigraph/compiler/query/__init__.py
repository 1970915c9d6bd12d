"""The query language: tokens, grammar, syntax tree, parser and printer; no types, no catalog."""
