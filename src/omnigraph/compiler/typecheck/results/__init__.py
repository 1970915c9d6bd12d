"""What a read returns: columns, groups, sort keys and pages."""
