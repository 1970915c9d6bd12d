"""Searching paths: the shortest ones by edges or by weight, in the sequence that the language promises."""
