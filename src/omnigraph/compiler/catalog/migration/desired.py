"""What a caller wants the schema to be: a whole schema, or an addition to the accepted one."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.compiler.catalog.declare import declare
from omnigraph.compiler.catalog.migration.plan import MigrationPlan, plan_migration
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.schema.extend import extend_tree
from omnigraph.compiler.schema.parser import parse_schema, read_schema
from omnigraph.compiler.schema.printer import print_schema
from omnigraph.compiler.schema.problems import SchemaProblems
from omnigraph.compiler.source import SourceText


@dataclass(frozen=True, slots=True)
class DesiredSchema:
    """A schema text as somebody gives it, and what it may do to what is there."""

    text: str
    file: str = ""
    """Where the text was read, for messages."""
    extends: bool = False
    """Whether the text adds to the accepted schema; otherwise it is the whole schema."""
    allow_drop: bool = False
    allow_data_loss: bool = False
    """Whether drops are allowed and also give up older versions."""

    def plan(self, accepted: Catalog, source: str) -> tuple[MigrationPlan, str]:
        """Return the steps from an accepted schema, and the text of the schema that they lead to.

        `source` is the text of the accepted schema; empty when it was built in code.
        """
        if not self.extends:
            plan = plan_migration(accepted, self.text, self.allow_data_loss, self.file, on_branch=True)
            return plan, self.text
        problems = SchemaProblems(SourceText(self.text))
        addition = read_schema(self.text, problems)
        tree = extend_tree(parse_schema(source) if source else declare(accepted), addition, problems)
        problems.raise_if_any(self.file)
        plan = plan_migration(accepted, tree, self.allow_data_loss, self.file, self.text, on_branch=True)
        return plan, print_schema(tree)

    def check(self, plan: MigrationPlan) -> None:
        """Refuse a plan that drops what nobody has allowed to drop, or that cannot be carried out."""
        if not (self.allow_drop or self.allow_data_loss):
            plan.refuse_drops()
        plan.require_supported()
