"""Bytes and tables: object storage for control files, Lance for data. Has never heard of a graph."""
