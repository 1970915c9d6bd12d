"""Text in, catalog and IR out: no I/O, no Arrow, no Lance."""
