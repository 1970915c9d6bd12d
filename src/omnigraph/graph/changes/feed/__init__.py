"""The feed: what was committed, in order."""
