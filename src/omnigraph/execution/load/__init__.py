"""Loading in process: records in, checked batches through, one commit out."""
