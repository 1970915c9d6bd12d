"""Writing: stage data, apply it to the newest state, publish; again where that is allowed."""
