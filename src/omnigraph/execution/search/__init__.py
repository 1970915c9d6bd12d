"""Search: texts by their words, vectors by their angle."""
