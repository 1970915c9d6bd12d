"""Rules between records: ids, ends and keys, screened by hashes and checked exactly on suspicion."""
