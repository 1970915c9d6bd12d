"""What an operator can ask of a cluster."""
