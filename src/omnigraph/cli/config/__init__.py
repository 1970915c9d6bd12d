"""What a user keeps in `~/.omnigraph`, and which graph a command is about."""
