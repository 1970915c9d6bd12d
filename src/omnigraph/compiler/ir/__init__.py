"""The typed form of a query that engines execute: frozen nodes, no syntax, no text that carries meaning."""
