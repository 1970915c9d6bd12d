"""Mutations: statements executed on one state, and committed."""
