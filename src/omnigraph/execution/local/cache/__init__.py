"""What a snapshot has in memory: columns, look-ups, adjacency."""
