"""Three-way merge: what two branches have done since their common commit, brought together in one commit."""
