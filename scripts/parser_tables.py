"""Write the tables of the query language's parser, which are shipped: run it when its grammar changes."""

from __future__ import annotations

from omnigraph.compiler.query import parser

if __name__ == "__main__":
    parser.TABLES.write_bytes(parser.make_tables())
