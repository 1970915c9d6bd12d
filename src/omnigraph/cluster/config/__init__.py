"""What is declared: `cluster.yaml` and the files that it names."""
