"""One node or edge, and one blob of it, as users see them."""
