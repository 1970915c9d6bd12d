"""Bulk jobs, each of them one commit."""
