"""Graphs, schemas, stored queries, policies, providers and pipelines that are declared as files."""
