"""Proposals: what is to be merged, who looks at it, and the merge that holds to what the target demands."""
