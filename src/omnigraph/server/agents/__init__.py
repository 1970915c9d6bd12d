"""What answers agents: the tools of graphs, over the Model Context Protocol."""
