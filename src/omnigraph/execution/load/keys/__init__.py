"""Rules between records (ids, ends, keys): screened by hashes, and checked exactly if in doubt."""
