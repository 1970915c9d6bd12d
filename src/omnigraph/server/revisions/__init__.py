"""Which graphs a worker serves now, and how it takes over what was applied to a cluster."""
