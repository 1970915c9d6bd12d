"""The compiled schema: its model, how it is built from an AST, encoded, and compared."""
