"""Graphs as tools of agents, over the Model Context Protocol: one thin layer over the SDK."""
