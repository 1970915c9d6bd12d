"""A table as a Lance dataset: reading one version, staging the next."""
