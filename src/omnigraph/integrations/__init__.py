"""Graphs for other libraries, and from them. Each module needs its library, which no extra installs."""
