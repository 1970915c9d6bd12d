"""The local engine: compiled reads over arrays of one snapshot."""
