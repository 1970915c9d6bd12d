"""The asynchronous twins of the handles: the same methods, awaited."""
