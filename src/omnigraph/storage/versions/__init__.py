"""What a table version names, what changed between two, and making one survive a power cut."""
