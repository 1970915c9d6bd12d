"""What lets a process start sooner."""
