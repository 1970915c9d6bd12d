"""What runs inside Spark's Python workers; nothing here knows a session, and all of it can be sent there."""
