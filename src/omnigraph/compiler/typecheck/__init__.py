"""Queries against the catalog: every rule with its code, and the typed form that lowering takes."""
