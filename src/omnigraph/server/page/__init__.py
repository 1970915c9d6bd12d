"""The page that a browser shows, and what was built for it."""
