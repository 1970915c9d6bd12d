"""Who may do what: bundles of rules in files, decided by Cedar. What a graph is stands above."""
