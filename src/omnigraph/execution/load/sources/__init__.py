"""What can be loaded: files of lines and of columns, data frames, records; and the places of records."""
