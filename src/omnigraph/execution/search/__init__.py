"""Search in memory: text by words, vectors by cosine distance."""
