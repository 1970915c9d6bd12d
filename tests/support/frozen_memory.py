"""Imported last by a server that forks: forks share what is loaded, as the collector passes over it."""

import gc

gc.collect()
gc.freeze()
