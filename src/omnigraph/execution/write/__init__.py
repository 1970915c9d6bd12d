"""Mutations: their statements carried out on one state, and committed."""
