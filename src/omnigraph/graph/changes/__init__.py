"""What differs between two commits: rows, diffs, the changes of a commit, the feed."""
