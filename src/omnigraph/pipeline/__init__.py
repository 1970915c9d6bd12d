"""Bulk work on Spark: it distributes, native code in its Python workers does the work."""
