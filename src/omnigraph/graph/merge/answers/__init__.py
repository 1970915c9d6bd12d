"""Answers to conflicts of a merge: what they say, how they are read, and the rows that they ask for."""
