"""The applied revision as whoever serves it, or runs its pipelines, reads it."""
