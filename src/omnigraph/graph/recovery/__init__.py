"""Recovery: durable publish plans, whose they are, and how an abandoned one is settled."""
