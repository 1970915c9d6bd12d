"""What surrounds every request: its state, who may begin, threads, streams, refusals."""
