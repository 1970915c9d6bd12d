"""What requests may hold: a model for each body, with the names of the SDK's arguments or of the contract."""

from __future__ import annotations

from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from omnigraph.base.choices import CombineValues, LoadMode, MergeStrategy, OnError, ReadEngine, SchemaMode


class Body(BaseModel):
    """A body with no members but its own."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class QueryBody(Body):
    """A read query, and what it is asked of."""

    query: str = Field(examples=["query people() { match { $p: Person } return { $p.name } }"])
    name: str | None = None
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = Field(None, description="A commit, a tag, or what else stands for a commit.")
    timeout: int | float | None = Field(None, description="Seconds.")
    optimise: bool = True
    engine: ReadEngine = "auto"
    stream: bool = Field(True, description="Whether NDJSON and Arrow are sent while rows are made.")
    batch_rows: int = Field(8_192, ge=1, le=1_048_576, description="Rows of a batch of a stream.")


class ExplainBody(Body):
    """A read query whose plan is asked for; with `analyze` it is run."""

    query: str
    name: str | None = None
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None
    analyze: bool = False
    timeout: int | float | None = Field(None, description="Seconds.")
    optimise: bool = True


class MutateBody(Body):
    """A mutation query."""

    query: str = Field(validation_alias=AliasChoices("query", "query_source"))
    name: str | None = Field(None, validation_alias=AliasChoices("name", "query_name"))
    params: dict[str, Any] | None = None
    branch: str | None = None
    message: str | None = None
    metadata: dict[str, str] | None = Field(None, description="Noted in the commit.")
    retry: int = Field(0, ge=0)


class LoadBody(Body):
    """Graph records to load, as lines of JSON in one string."""

    data: str
    mode: LoadMode
    branch: str | None = None
    from_branch: str | None = Field(None, alias="from", description="Made of this one when it is not there.")
    on_error: OnError = "fail"
    message: str | None = None
    metadata: dict[str, str] | None = Field(None, description="Noted in the commit.")


class QueriesBody(Body):
    """Stored queries as files with their texts, or the names of those to remove."""

    files: dict[str, str] | None = Field(None, description="Texts of `.gq` files, by name.")
    remove: list[str] | None = Field(None, description="Names; then there are no files.")
    mode: SchemaMode = Field("replace", description="`extend` keeps the queries that are not named.")
    branch: str | None = None
    message: str | None = None
    metadata: dict[str, str] | None = Field(None, description="Noted in the commit.")

    @model_validator(mode="after")
    def _is_one_of_both(self) -> QueriesBody:
        if (self.files is None) == (self.remove is None):
            raise ValueError("give files, or remove")
        return self


class RunBody(Body):
    """The arguments of a stored query; what only reads or only mutations take is refused for the other."""

    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = Field(None, description="A commit, a tag, or what else stands for a commit.")
    expect_mutation: bool | None = Field(None, description="Which kind the query must be of.")
    timeout: int | float | None = Field(None, description="Seconds.")
    engine: ReadEngine = "auto"
    message: str | None = None
    metadata: dict[str, str] | None = Field(None, description="Noted in the commit.")
    retry: int = Field(0, ge=0)


class ExportBody(Body):
    """Which records to send."""

    branch: str | None = None
    snapshot: str | None = None
    type_names: list[str] | None = None


class BranchBody(Body):
    """A branch to make; it begins at a branch's head, a version of it, a commit or a tag."""

    name: str = Field(examples=["review"])
    from_branch: str | None = Field(None, alias="from")
    commit: str | None = None
    tag: str | None = None
    version: int | None = None


class RenameBody(Body):
    """Another name for a branch."""

    name: str


class ResetBody(Body):
    """The commit whose content a branch gets."""

    commit: str
    dry_run: bool = False
    message: str | None = None
    metadata: dict[str, str] | None = Field(None, description="Noted in the commit.")


class SameRuleBody(Body):
    """What says that nodes of a type may be duplicates: values of some properties, or a query."""

    type: str
    on: list[str] | None = None
    query: str | None = Field(None, description="A stored query of the target that returns two ids.")


class MergeBody(Body):
    """What to merge, and how."""

    source: str
    target: str = "main"
    delete_branch: bool = False
    strategy: MergeStrategy = "entity"
    resolutions: list[dict[str, Any]] | None = None
    dry_run: bool = False
    message: str | None = None
    metadata: dict[str, str] | None = Field(None, description="Noted in the commit.")
    same_as: list[SameRuleBody] | None = Field(None, description="What finds duplicates.")


class RebaseBody(Body):
    """What a branch should begin after."""

    onto: str = "main"
    strategy: MergeStrategy = "entity"
    resolutions: list[dict[str, Any]] | None = None
    dry_run: bool = False


class UndoBody(Body):
    """Whose commits are taken back from a branch."""

    actor: str
    since: str | None = Field(None, description="What this commit has stays.")
    where: dict[str, str] | None = Field(None, description="What the metadata of the commits must say.")
    branch: str | None = None
    strategy: MergeStrategy | None = None
    resolutions: list[dict[str, Any]] | None = None
    dry_run: bool = False
    message: str | None = None
    metadata: dict[str, str] | None = Field(None, description="Noted in the commit.")


class PickBody(Body):
    """Where a commit is taken back, or brought to."""

    branch: str | None = None
    strategy: MergeStrategy = "entity"
    resolutions: list[dict[str, Any]] | None = None
    dry_run: bool = False
    message: str | None = None
    metadata: dict[str, str] | None = Field(None, description="Noted in the commit.")


class SchemaBody(Body):
    """Another schema, and what it may take away."""

    schema_source: str
    branch: str | None = None
    allow_drop: bool = False
    allow_data_loss: bool = False
    mode: SchemaMode = "replace"
    allow_broken_queries: bool = Field(False, description="Whether stored queries may stop fitting.")
    file: str = Field("", description="What errors call the text.")
    message: str | None = None
    metadata: dict[str, str] | None = Field(None, description="Noted in the commit.")


class TagBody(Body):
    """A name for a commit, or for a branch's head."""

    name: str
    commit: str | None = None
    branch: str | None = None


class ApplyBody(Body):
    """A block of another graph's feed, in all its parts."""

    parts: list[dict[str, Any]]
    branch: str | None = None
    message: str | None = None


class EmbedBody(Body):
    """Which vectors to compute."""

    branch: str | None = None
    types: list[str] | None = Field(None, examples=[["Doc.vec"]])
    reembed: bool = False
    message: str | None = None


class OptimizeBody(Body):
    """Which branch to optimize, and whether only indexes are meant."""

    branch: str | None = None
    indexes_only: bool = False
    engine: ReadEngine = "auto"


class CleanupBody(Body):
    """What to keep."""

    keep: int | None = Field(None, ge=0)
    older_than: str | None = Field(None, examples=["7d"])
    dry_run: bool = False
    message: str | None = None


class RepairBody(Body):
    """Whether to fix what needs no guess, and whether to read every byte."""

    confirm: bool = False
    scrub: bool = False


class EntityResetBody(Body):
    """The commit at which the entity was what it shall be."""

    revision: str
    message: str | None = None
    metadata: dict[str, str] | None = None


class CombineBody(Body):
    """Duplicates: which of them stays, and whose values it gets."""

    type: str
    keep: str = Field(description="The id that stays.")
    drop: list[str] = Field(description="The ids that go; their edges are moved.")
    values: CombineValues = "fill"
    properties: dict[str, Any] | None = Field(None, description="Set, whatever the nodes had.")
    resolutions: list[dict[str, Any]] | None = None
    branch: str | None = None
    message: str | None = None
    metadata: dict[str, str] | None = Field(None, description="Noted in the commit.")


class ProtectionBody(Body):
    """What proposals into a branch need."""

    approvals: int = Field(1, ge=0, le=100)
    checks: list[str] = Field([], description="Names of stored queries that must return no rows.")


class ProposalBody(Body):
    """A branch that is proposed to another."""

    source: str = Field(examples=["review"])
    into: str = "main"
    title: str = ""
    description: str = ""
    reviewers: list[str] = []
    checks: list[str] = Field([], description="Names of stored queries that must return no rows.")
    strategy: MergeStrategy = "entity"
    metadata: dict[str, str] | None = Field(None, description="Noted in the commit of the merge.")
    same_as: list[SameRuleBody] | None = Field(None, description="What finds duplicates.")


class CommentBody(Body):
    """What is said about a proposal, or about a node, an edge or a property of it."""

    text: str
    entity: dict[str, str] | None = Field(None, examples=[{"type": "Person", "id": "ada", "property": "age"}])
    commit: str | None = Field(None, description="What was looked at; the head of the source unless given.")


class ApproveBody(Body):
    """What was looked at: when the source is another by now, nothing is approved."""

    commit: str | None = None
    text: str = ""


class ChangesRequestBody(Body):
    """What should change, and what was looked at."""

    text: str = ""
    commit: str | None = None


class ResolutionsBody(Body):
    """Answers to conflicts, as a merge takes them; one whose `take` is null takes an earlier one away."""

    resolutions: list[dict[str, Any]]
    replace: bool = Field(False, description="Whether earlier answers to other conflicts go.")


class ProposalMergeBody(Body):
    """What the commit says, and whether the source goes."""

    message: str | None = None
    metadata: dict[str, str] | None = None
    delete_branch: bool = False
    commit: str | None = Field(
        None, description="What was looked at: when the source is another by now, nothing is merged."
    )


class ProposalTextBody(Body):
    """Why."""

    text: str = ""
