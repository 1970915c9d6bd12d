"""What a process hands to others of its machine."""
