"""Events of OpenLineage: what they say, where they go, and how they get there."""
