"""Loading: records in, checked batches through, one commit out."""
