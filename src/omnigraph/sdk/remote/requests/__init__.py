"""Requests to a server, and what comes back."""
