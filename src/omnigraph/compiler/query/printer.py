"""The syntax tree to canonical text. Printing what was parsed and parsing it again gives the same tree."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from omnigraph.compiler.query import ast
from omnigraph.compiler.query.spelling import clause_text, condition_text, expression_text
from omnigraph.compiler.strings import quote

_INDENT = "  "


def print_file(file: ast.File) -> str:
    """Return the canonical text of a file, its comments included."""
    printer = _Printer(file.comments)
    for query in file.queries:
        printer.between_queries(query.span.start)
        printer.query(query)
    return printer.finish()


class _Printer:
    """Writes lines; before each item come the comments that preceded it in the text."""

    def __init__(self, comments: Iterable[ast.Comment]) -> None:
        self.lines: list[str] = []
        self.depth = 0
        self.comments = deque(comments)
        self.in_comment = False
        """Whether the last line ends in a comment that would swallow what follows on it."""

    # Lines and comments

    def line(self, text: str) -> None:
        self.lines.append(_INDENT * self.depth + text)
        self.in_comment = False

    def item(self, start: int, text: str) -> None:
        self.comments_before(start)
        self.line(text)

    def open(self, start: int, text: str) -> None:
        self.item(start, text)
        self.depth += 1

    def close(self, end: int, text: str = "}") -> None:
        self.comments_before(end)
        self.depth -= 1
        self.line(text)

    def comments_before(self, offset: int) -> None:
        while self.comments and self.comments[0].span.start < offset:
            comment = self.comments.popleft()
            if comment.own_line or not self.lines or self.in_comment:
                self.line(comment.text)
            else:
                self.lines[-1] += f" {comment.text}"
            self.in_comment = comment.text.startswith("//")

    def between_queries(self, start: int) -> None:
        while self.comments and not self.comments[0].own_line and self.comments[0].span.start < start:
            self.comments_before(self.comments[0].span.start + 1)
        if self.lines:
            self.line("")
        self.comments_before(start)

    def finish(self) -> str:
        if self.comments:
            last = self.comments[-1].span.start + 1
            if self.lines:
                self.between_queries(last)
            else:
                self.comments_before(last)
            if self.lines and not self.lines[-1]:
                self.lines.pop()
        return "".join(f"{line}\n" for line in self.lines)

    # Queries

    def query(self, node: ast.Query) -> None:
        parameters = ", ".join(f"${item.name}: {item.type}" for item in node.parameters)
        header = f"query {node.name.text}({parameters})"
        notes = [("@description", node.description), ("@instruction", node.instruction)]
        given = [f"{name}({quote(text)})" for name, text in notes if text is not None]
        if given:
            self.item(node.span.start, header)
            for note in given:
                self.line(_INDENT + note)
            self.line("{")
            self.depth += 1
        else:
            self.open(node.span.start, f"{header} {{")
        if isinstance(node.body, ast.Union):
            self.union(node.body)
        elif isinstance(node.body, ast.Read):
            self.read(node.body)
        else:
            if node.body.match is not None:
                self.match(node.body.match)
            for statement in node.body.statements:
                self.statement(statement)
        self.close(node.span.end - 1)

    def union(self, node: ast.Union) -> None:
        for at, part in enumerate(node.parts):
            if at:
                self.item(part.span.start, "union all" if node.keeps_equal else "union")
            self.read(part)
        self.shape(node)

    def read(self, node: ast.Read) -> None:
        for stage in node.stages:
            self.stage(stage)
        if node.match is not None:
            self.match(node.match)
        self.columns("return", node.returns, _column)
        self.having(node.having)
        self.shape(node)

    def stage(self, node: ast.Stage) -> None:
        if node.match is not None:
            self.match(node.match)
        self.columns("with", node.returns, _item_text)
        self.having(node.having)
        self.shape(node)

    def columns(self, word: str, node: ast.ReturnClause, text: Callable[[ast.ReturnItem], str]) -> None:
        self.open(node.span.start, f"{word} distinct {{" if node.distinct else f"{word} {{")
        for at, item in enumerate(node.items):
            comma = "," if at < len(node.items) - 1 else ""
            self.item(item.span.start, f"{text(item)}{comma}")
        self.close(node.span.end - 1)

    def having(self, node: ast.HavingClause | None) -> None:
        if node is None:
            return
        self.open(node.span.start, "having {")
        for at, condition in enumerate(node.conditions):
            comma = "," if at < len(node.conditions) - 1 else ""
            self.item(condition.span.start, f"{condition_text(condition)}{comma}")
        self.close(node.span.end - 1)

    def shape(self, node: ast.Read | ast.Stage | ast.Union) -> None:
        if node.order is not None:
            keys = ", ".join(_ordering(item) for item in node.order.items)
            self.item(node.order.span.start, f"order {{ {keys} }}")
        for word, value in (("skip", node.skip), ("limit", node.limit)):
            if value is not None:
                self.line(f"{word} {expression_text(value)}")

    def match(self, node: ast.MatchClause) -> None:
        self.open(node.span.start, "match distinct edges {" if node.distinct_edges else "match {")
        self.clauses(node.clauses)
        self.close(node.span.end - 1)

    def clauses(self, nodes: Sequence[ast.Clause]) -> None:
        for node in nodes:
            if isinstance(node, ast.Negation | ast.OptionalBlock):
                word = "not" if isinstance(node, ast.Negation) else "optional"
                self.open(node.span.start, f"{word} {{")
                self.clauses(node.clauses)
                self.close(node.span.end - 1)
            else:
                self.item(node.span.start, clause_text(node))

    def statement(self, node: ast.Statement) -> None:
        if isinstance(node, ast.MatchedDeleteStatement):
            self.item(node.span.start, f"delete ${node.variable.name}")
            return
        if isinstance(node, ast.DeleteStatement):
            where = condition_text(node.where)
            self.item(node.span.start, f"delete {node.type_name.text} where {where}")
            return
        if isinstance(node, ast.MatchedUpdateStatement):
            opening = f"update ${node.variable.name} set {{"
        elif isinstance(node, ast.UpdateStatement):
            opening = f"update {node.type_name.text} set {{"
        else:
            word = "insert" if isinstance(node, ast.InsertStatement) else "upsert"
            opening = f"{word} {node.type_name.text} {{"
        self.open(node.span.start, opening)
        for at, item in enumerate(node.assignments):
            comma = "," if at < len(node.assignments) - 1 else ""
            self.item(item.span.start, f"{item.property.text}: {expression_text(item.value)}{comma}")
        if isinstance(node, ast.UpdateStatement):
            self.close(node.where.span.start, f"}} where {condition_text(node.where)}")
        else:
            self.close(node.span.end - 1)


def _column(item: ast.ReturnItem) -> str:
    if isinstance(item.expression, ast.AllProperties):
        return f"${item.expression.variable.name}.*"
    return expression_text(item.expression) + (f" as {item.alias.text}" if item.alias else "")


def _item_text(item: ast.ReturnItem) -> str:
    assert not isinstance(item.expression, ast.AllProperties), "with lists variables and values"
    return expression_text(item.expression) + (f" as ${item.alias.text}" if item.alias else "")


def _ordering(node: ast.OrderItem) -> str:
    word = "" if node.descending is None else " desc" if node.descending else " asc"
    return expression_text(node.expression) + word
