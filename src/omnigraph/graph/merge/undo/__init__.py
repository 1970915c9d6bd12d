"""Taking back what one actor has done: which commits, and what becomes of each entity that they changed."""
