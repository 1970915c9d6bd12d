"""What an agent reads to work with graphs: a skill page and its references, shipped with the package."""
