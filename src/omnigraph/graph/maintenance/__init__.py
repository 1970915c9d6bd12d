"""Care of storage: joining small fragments inside ordinary writes, and on request."""
