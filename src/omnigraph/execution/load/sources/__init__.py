"""What can be loaded: files of lines and of columns, data frames, records; where each record lies."""
