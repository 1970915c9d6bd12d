"""Bind parameter values and the time of the request to a compiled query; pure, so a query runs many times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from omnigraph.base.errors import BadInput, ParameterError, ValidationError
from omnigraph.compiler.catalog.keys import name_ends
from omnigraph.compiler.functions.fitting import find_failed, fit_value, make_list
from omnigraph.compiler.functions.registry import apply_to
from omnigraph.compiler.ir import conditions as cond
from omnigraph.compiler.ir import pattern, queries
from omnigraph.compiler.ir.computed import (
    Call,
    Case,
    CaseChoice,
    ConditionTruth,
    EntityMap,
    ListOf,
    MemberTest,
)
from omnigraph.compiler.ir.values import (
    DATETIME,
    Aggregate,
    Computed,
    Constant,
    EntityId,
    IdOfEnd,
    Now,
    Parameter,
    PlainValue,
    PropertyValue,
    RankFusion,
    RoundedToF32,
    Score,
    StoredAs,
    TextMatch,
    TextScore,
    Value,
    VectorDistance,
)
from omnigraph.compiler.typecheck.types import convert_for_comparison, convert_to_stored


def bind_read(query: queries.ReadQuery, params: Mapping[str, PlainValue], now: int) -> queries.ReadQuery:
    """Return a read without parameters and `now()`; `params` are decoded, `now` is epoch milliseconds."""
    binder = _Binder(params, now)
    ranking = query.ranking
    return queries.ReadQuery(
        name=query.name,
        parameters=(),
        variables=query.variables,
        match=binder.block(query.match),
        projections=tuple(binder.projection(item) for item in query.projections),
        grouped=query.grouped,
        distinct=query.distinct,
        ranking=queries.Ranking(binder.score(ranking.score), ranking.candidates) if ranking else None,
        order=tuple(binder.sort_key(item) for item in query.order),
        ties=query.ties,
        skip=binder.page(query.skip, "skip"),
        limit=binder.page(query.limit, "limit"),
        columns=query.columns,
        reads=query.reads,
        having=None if query.having is None else binder.condition(query.having),
        source=None if query.source is None else _bind_source(query.source, params, now),
    )


def _bind_source(source: queries.Source, params: Mapping[str, PlainValue], now: int) -> queries.Source:
    return replace(source, reads=tuple(bind_read(item, params, now) for item in source.reads))


def bind_write(query: queries.WriteQuery, params: Mapping[str, PlainValue], now: int) -> queries.WriteQuery:
    """Return a mutation without parameters and `now()`, its values converted to what is stored."""
    binder = _Binder(params, now)
    statements = tuple(binder.statement(item) for item in query.statements)
    match = None if query.match is None else bind_read(query.match, params, now)
    return replace(query, parameters=(), statements=statements, match=match)


@dataclass(frozen=True, slots=True)
class _Binder:
    params: Mapping[str, PlainValue]
    now: int

    def value(self, node: Value) -> Value:
        if isinstance(node, PropertyValue | EntityId):
            return node
        if isinstance(node, Parameter):
            return Constant(self.params[node.name], node.type)
        if isinstance(node, Now):
            return Constant(self.now, DATETIME)
        if isinstance(node, RoundedToF32):
            return convert_for_comparison(Constant(self.params[node.value.name], node.value.type), node.type)
        if isinstance(node, IdOfEnd):
            return Constant(name_ends(self.params[node.value.name], node.key), node.type)
        if isinstance(node, StoredAs):
            return self._bind_stored(node)
        if isinstance(node, TextMatch):
            edits = None if node.max_edits is None else self.value(node.max_edits)
            if isinstance(edits, Constant) and isinstance(edits.value, int) and edits.value < 0:
                raise _wrong(f"max_edits of fuzzy must be at least 0, found {edits.value}", node.max_edits)
            return TextMatch(node.field, self.value(node.text), edits)
        if isinstance(node, TextScore | VectorDistance | RankFusion):
            return self.score(node)
        return self._bind_computed(node) if isinstance(node, Computed) else node

    def _bind_computed(self, node: Computed) -> Value:
        """Bind what computes; a call of constants alone becomes their value."""
        if isinstance(node, Call):
            return _fold(Call(node.function, tuple(map(self.value, node.arguments)), node.type))
        if isinstance(node, ListOf):
            return _fold_list(ListOf(tuple(map(self.value, node.items)), node.type))
        if isinstance(node, Case):
            branches = tuple(
                CaseChoice(self.condition(item.condition), self.value(item.value)) for item in node.branches
            )
            return Case(branches, self.value(node.otherwise), node.type)
        if isinstance(node, EntityMap):
            return node
        if isinstance(node, MemberTest):
            members, condition = self.value(node.list), self.condition(node.condition)
            return MemberTest(node.quantifier, members, node.member, condition)
        assert isinstance(node, ConditionTruth)
        return ConditionTruth(self.condition(node.condition))

    def _bind_stored(self, node: StoredAs) -> Constant:
        try:
            return Constant(convert_to_stored(self.params[node.value.name], node.type), node.type)
        except ValueError as error:
            message = f"parameter '{node.value.name}' cannot be stored in {node.subject}: {error}"
            raise ValidationError(message, parameter=node.value.name, subject=node.subject) from None

    def score(self, node: Score) -> Score:
        if isinstance(node, RankFusion):
            k = self.value(node.k)
            if isinstance(k, Constant) and (not isinstance(k.value, int) or k.value < 1):
                raise _wrong(f"k of rrf must be at least 1, found {k.value!r}", node.k)
            return RankFusion(tuple(self._ranking(item) for item in node.rankings), k)
        return self._ranking(node)

    def _ranking(self, node: TextScore | VectorDistance) -> TextScore | VectorDistance:
        if isinstance(node, TextScore):
            return TextScore(node.field, self.value(node.text))
        return VectorDistance(node.field, self.value(node.query))

    def projection(self, item: queries.Projection) -> queries.Projection:
        node = item.value
        if isinstance(node, PropertyValue | EntityId):
            return item
        if isinstance(node, Aggregate):
            argument = self.value(node.argument)
            value: Value | Aggregate = Aggregate(node.function, argument, node.distinct, node.type)
        else:
            value = self.value(node)
        return replace(item, value=value)

    def sort_key(self, key: queries.SortKey) -> queries.SortKey:
        if isinstance(key.value, queries.Output):
            return key
        return queries.SortKey(self.value(key.value), key.descending)

    def page(self, node: queries.PageValue | None, word: str) -> queries.PageValue | None:
        if not isinstance(node, Parameter):
            return node
        count = self.params[node.name]
        if not isinstance(count, int) or count < 0:
            message = f"{word} must not be negative, parameter '{node.name}' is {count!r}"
            raise ParameterError(message, parameter=node.name)
        return Constant(count, node.type)

    def condition(self, node: cond.Condition) -> cond.Condition:
        if isinstance(node, cond.Compare):
            return cond.Compare(node.comparator, self.value(node.left), self.value(node.right))
        if isinstance(node, cond.All):
            return cond.All(tuple(self.condition(term) for term in node.terms))
        if isinstance(node, cond.Any):
            return cond.Any(tuple(self.condition(term) for term in node.terms))
        if isinstance(node, cond.Not):
            return cond.Not(self.condition(node.term))
        if isinstance(node, cond.IsNull):
            return cond.IsNull(self.value(node.value))
        if isinstance(node, cond.ListContains):
            return cond.ListContains(self.value(node.list), self.value(node.item))
        if isinstance(node, cond.TextContains):
            return cond.TextContains(self.value(node.text), self.value(node.part))
        if isinstance(node, cond.TextMatches):
            return cond.TextMatches(self.value(node.text), self.value(node.pattern))
        return cond.TextStartsWith(self.value(node.text), self.value(node.prefix))

    def block(self, block: pattern.Block) -> pattern.Block:
        return pattern.Block(tuple(self._step(step) for step in block.steps))

    def _step(self, step: pattern.Step) -> pattern.Step:
        if isinstance(step, pattern.Filter):
            return pattern.Filter(self.condition(step.condition))
        if isinstance(step, pattern.AntiJoin):
            return pattern.AntiJoin(self.block(step.block))
        if isinstance(step, pattern.LeftJoin):
            return pattern.LeftJoin(self.block(step.block), step.introduces)
        if isinstance(step, pattern.CountJoin):
            return pattern.CountJoin(self.block(step.block), step.into, step.exists)
        return step

    def statement(self, node: queries.Statement) -> queries.Statement:
        if isinstance(node, queries.InsertNode):
            return queries.InsertNode(node.type_name, self._assignments(node.values))
        if isinstance(node, queries.InsertEdge):
            source, target = self.value(node.source), self.value(node.target)
            return queries.InsertEdge(node.type_name, source, target, self._assignments(node.values))
        if isinstance(node, queries.Upsert):
            ends = node.ends and (self.value(node.ends[0]), self.value(node.ends[1]))
            id_ = None if node.id is None else self.value(node.id)
            given = self._assignments(node.given)
            return queries.Upsert(node.table, id_, ends, given, node.others)
        if isinstance(node, queries.Update):
            return queries.Update(node.table, self._assignments(node.assignments), self.condition(node.where))
        if isinstance(node, queries.MatchedUpdate):
            return replace(node, assignments=self._assignments(node.assignments))
        if isinstance(node, queries.MatchedDelete):
            return node
        return queries.Delete(node.table, self.condition(node.where))

    def _assignments(self, items: tuple[queries.Assignment, ...]) -> tuple[queries.Assignment, ...]:
        return tuple(queries.Assignment(item.property, self.value(item.value)) for item in items)


def _fold(node: Call) -> Value:
    """Return the value of a call of constants; one without a result stays, as a write must refuse it."""
    constants = [item for item in node.arguments if isinstance(item, Constant)]
    if len(constants) < len(node.arguments):
        return node
    found = apply_to(node.function, tuple(item.type for item in constants))(
        [item.value for item in constants]
    )
    found = make_list(found, node.type) if isinstance(found, tuple) else fit_value(found, node.type)
    return node if find_failed(found) else Constant(found, node.type)


def _fold_list(node: ListOf) -> Value:
    """Return a list of constants as one; a member without a result stays, as a write must refuse it."""
    constants = [item.value for item in node.items if isinstance(item, Constant)]
    if len(constants) < len(node.items):
        return node
    found = make_list(constants, node.type)
    return node if find_failed(found) else Constant(found, node.type)


def _wrong(message: str, given: Value | None) -> BadInput:
    """Return the error about a value out of its range; of a parameter, the one about parameters."""
    if isinstance(given, Parameter):
        return ParameterError(f"{message}: that is parameter '{given.name}'", parameter=given.name)
    return BadInput(message)
