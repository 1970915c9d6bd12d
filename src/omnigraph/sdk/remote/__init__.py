"""A served graph, with the methods of one that is opened in process."""
