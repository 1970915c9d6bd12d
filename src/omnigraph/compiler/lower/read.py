"""A checked read to its executable form: ranking, tie-breaks, columns and tables become explicit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir.pattern import (
    AntiJoin,
    Block,
    CountJoin,
    LeftJoin,
    Scan,
    Traverse,
    Variable,
    VariableKind,
)
from omnigraph.compiler.ir.queries import (
    Column,
    Output,
    Projection,
    Ranking,
    ReadQuery,
    SortKey,
    Source,
    TouchedTable,
)
from omnigraph.compiler.ir.values import (
    Aggregate,
    Constant,
    EntityId,
    EntityKey,
    Parameter,
    PathLength,
    RankFusion,
    StageValue,
    TextScore,
    VectorDistance,
    path_rank,
)
from omnigraph.compiler.lower.simplify import Simplifier
from omnigraph.compiler.typecheck.typed import TypedRead, TypedSource


def lower_read(typed: TypedRead, catalog: Catalog) -> ReadQuery:
    """Return the executable form of a checked read."""
    match = Simplifier(typed.variables, catalog).block(typed.match)
    source = None if typed.source is None else _source(typed.source, catalog)
    projections = tuple(_projections(typed))
    order = tuple(SortKey(item.value, item.descending) for item in typed.orderings)
    return ReadQuery(
        name=typed.name,
        parameters=typed.parameters,
        variables=typed.variables,
        match=match,
        projections=projections,
        grouped=typed.grouped,
        distinct=typed.distinct,
        ranking=_ranking(typed, match),
        order=order,
        ties=tuple(dict.fromkeys(_ties(typed, projections))) if order else (),
        skip=typed.skip,
        limit=typed.limit,
        columns=tuple(Column(item.name, item.value.type) for item in _drop_repeated_names(projections)),
        reads=tables((*_block_tables(match, typed.variables, catalog), *_tables_before(source))),
        having=typed.having,
        source=source,
    )


def _source(typed: TypedSource, catalog: Catalog) -> Source:
    return Source(tuple(lower_read(item, catalog) for item in typed.reads), typed.variables)


def _tables_before(source: Source | None) -> Iterator[TouchedTable]:
    for read in source.reads if source is not None else ():
        yield from read.reads


def tables(found: Iterable[TouchedTable]) -> tuple[TouchedTable, ...]:
    """Return tables once each, nodes before edges, then by name."""
    return tuple(sorted(set(found), key=lambda item: (item.kind != "node", item.type_name)))


def _projections(typed: TypedRead) -> Iterator[Projection]:
    last = {item.name: at for at, item in enumerate(typed.projections) if not item.hidden}
    for at, item in enumerate(typed.projections):
        shadowed = not item.hidden and last[item.name] != at
        yield Projection(item.name, item.value, shadowed, item.on_groups, item.hidden)


def _drop_repeated_names(projections: tuple[Projection, ...]) -> Iterator[Projection]:
    """Yield the shown columns; of equal names the last wins, at the position of the first, as in JSON."""
    by_name = {item.name: item for item in projections if not item.hidden}
    yield from by_name.values()


def _ties(typed: TypedRead, projections: tuple[Projection, ...]) -> Iterator[SortKey]:
    if typed.grouped or typed.distinct:
        for at, item in enumerate(projections):
            decides = not (item.shadowed or item.hidden) if typed.distinct else item.is_key
            if decides:
                yield SortKey(Output(at))
        return
    for variable in typed.visible:
        # Types may have been narrowed after the variable became visible.
        known = typed.variables[variable.slot]
        if known.value_type is not None:
            yield SortKey(StageValue(known.slot, known.value_type))
        elif known.kind is VariableKind.PATH:
            # Its ends may have no names, and are then no variables that can be seen.
            for end in _find_ends(typed.match, known.slot):
                yield SortKey(_identity(typed.variables[end]))
            yield SortKey(path_rank(known.slot, known.optional))
        elif known.kind is VariableKind.LENGTH:
            yield SortKey(PathLength(known.slot, known.optional))
        else:
            yield SortKey(_identity(known))


def _identity(variable: Variable) -> EntityKey | EntityId:
    value_of = EntityKey if variable.more_types else EntityId
    return value_of(variable.slot, variable.optional)


def _find_ends(block: Block, path: int) -> tuple[int, ...]:
    """Return the variables at the ends of a path."""
    for step in block.steps:
        if isinstance(step, Traverse) and step.path == path:
            return step.source, step.target
        if isinstance(step, LeftJoin):
            found = _find_ends(step.block, path)
            if found:
                return found
    return ()


def _ranking(typed: TypedRead, match: Block) -> Ranking | None:
    if not typed.orderings:
        return None
    value = typed.orderings[0].value
    if isinstance(value, Output):
        projected = typed.projections[value.projection].value
        value = value if isinstance(projected, Aggregate) else projected
    if not isinstance(value, TextScore | VectorDistance | RankFusion):
        return None
    variable = _find_ranked_variable(value)
    before = () if typed.source is None else typed.source.variables
    scanned = any(isinstance(step, Scan) and step.variable == variable for step in match.steps)
    scanned = scanned and variable not in before
    cut = scanned and typed.limit is not None and not typed.grouped and _is_fixed(value)
    return Ranking(value, variable if cut else None)


def _find_ranked_variable(score: TextScore | VectorDistance | RankFusion) -> int:
    first = score.rankings[0] if isinstance(score, RankFusion) else score
    return first.field.variable


def _is_fixed(score: TextScore | VectorDistance | RankFusion) -> bool:
    """Return whether the query of a search is the same for every row."""
    if isinstance(score, RankFusion):
        return all(_is_fixed(item) for item in score.rankings)
    query = score.text if isinstance(score, TextScore) else score.query
    return isinstance(query, Constant | Parameter)


def _block_tables(block: Block, variables: tuple[Variable, ...], catalog: Catalog) -> Iterator[TouchedTable]:
    for step in block.steps:
        if isinstance(step, Scan):
            for name in variables[step.variable].types:
                yield TouchedTable("node", name)
        elif isinstance(step, Traverse):
            for way in step.ways:
                edge = catalog.edge(way.edge_type)
                yield TouchedTable("edge", way.edge_type)
                if edge is not None:
                    yield TouchedTable("node", edge.source)
                    yield TouchedTable("node", edge.target)
        elif isinstance(step, AntiJoin | LeftJoin | CountJoin):
            yield from _block_tables(step.block, variables, catalog)
