"""The statements of a mutation: what they assign, which rows they select."""
