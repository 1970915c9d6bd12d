"""The rules of a schema, each once, for every way in which data comes in: mutation, load, merge, Spark."""
