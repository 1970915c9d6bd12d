"""Combining two schemas that grew out of one: facts by identity, three ways; nothing is executed."""

from omnigraph.compiler.catalog.combine.clashes import Clash, Side
from omnigraph.compiler.catalog.combine.combine import Combination, combine_schemas

__all__ = ["Clash", "Combination", "Side", "combine_schemas"]
