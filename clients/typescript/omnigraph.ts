// Made by scripts/typescript_client.py from the description of the server's routes: do not edit.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

/** An error that a server tells: `code` is stable, `retryable` says whether to ask again. */
export class OmniGraphError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly retryable: boolean,
    readonly details: JsonObject,
  ) {
    super(message);
    this.name = "OmniGraphError";
  }
}

export interface CallOptions {
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

/** Who may do what: the caller, and whoever else the caller may know of. */
export type AccessAnswer = {
  state: string;
  actors: ActorRights[];
};

/** What an actor may do on each branch. */
export type ActorRights = {
  actor: string | null;
  branches: { [name: string]: string[] };
};

/** A block of another graph's feed, in all its parts. */
export type ApplyBody = {
  parts: JsonObject[];
  branch?: string | null;
  message?: string | null;
};

/** What was looked at: when the source is another by now, nothing is approved. */
export type ApproveBody = {
  commit?: string | null;
  text?: string;
};

/** The result of an embedding run: vectors by property (`Doc.vec`); no commit if none was missing. */
export type Backfill = {
  commit_id: string | null;
  embedded: { [name: string]: number };
  model: string;
  seconds: number;
};

/** The size of a blob, null when there is none, and the commit that it is of. */
export type BlobAnswer = {
  size: number | null;
  commit: string;
};

/** What a write of a blob did. */
export type BlobWritten = {
  commit_id: string | null;
  affected_nodes: number;
  affected_edges: number;
  warnings: string[];
  blob_commit: string;
};

/** A branch to make; it begins at a branch's head, a version of it, a commit or a tag. */
export type BranchBody = {
  name: string;
  from?: string | null;
  commit?: string | null;
  tag?: string | null;
  version?: number | null;
};

/** A branch beside another. */
export type BranchInfo = {
  name: string;
  head: string;
  version: number;
  created_by: string | null;
  created_at: string | null;
  fork: string | null;
  compared_with: string;
  ahead: number;
  behind: number;
  last_writer: string | null;
  last_write_at: string;
  last_message: string | null;
  protection: Protection | null;
};

/** The name of a branch. */
export type BranchName = {
  name: string;
};

/** Names of branches: main, then the others by name. */
export type BranchesPage = {
  branches: string[];
  next_page_token?: string | null;
};

/** The commit that changes come from; what it does not have is left out. */
export type CauseAnswer = {
  graph_commit_id: string;
  parent_commit_id?: string;
  merged_parent_commit_id?: string;
  authored_branch: string;
  actor_id?: string;
  authored_at: number;
  operation: string;
  message?: string;
  metadata?: { [name: string]: string };
};

/** One node or edge: what it was and what it became, in the form of a load. */
export type ChangeAnswer = {
  kind: "node" | "edge";
  type: ChangedType;
  id: string;
  op: "insert" | "update" | "delete";
  before?: JsonObject;
  after?: JsonObject;
};

/** The changes of one commit, or a part of them. */
export type ChangeBlockAnswer = {
  cause: CauseAnswer;
  schema?: SchemaChange;
  queries?: QueriesChange;
  changes: ChangeAnswer[];
  offset: number;
  complete: boolean;
  version: number;
};

/** A type: its identity, which a rename keeps, and its name. */
export type ChangedType = {
  id: string;
  name: string;
};

/** What should change, and what was looked at. */
export type ChangesRequestBody = {
  text?: string;
  commit?: string | null;
};

/** A check on the merged result: it is passed when its query returns no rows. */
export type CheckResult = {
  name: string;
  ok: boolean;
  rows: JsonObject[];
  columns: string[];
  row_count: number;
  error: string | null;
};

/** What a cleanup did, or with `dry_run` would do. */
export type Cleanup = {
  dry_run: boolean;
  tables: TableCleanup[];
  commits_dropped: number;
  commits_kept: number;
  records_removed: number;
  records_resting: number;
  schemas_removed: number;
};

/** What to keep. */
export type CleanupBody = {
  keep?: number | null;
  older_than?: string | null;
  dry_run?: boolean;
  message?: string | null;
};

/** A column of a result: its name, and its type as in a schema. */
export type ColumnAnswer = {
  name: string;
  type: string;
};

/** Duplicates: which of them stays, and whose values it gets. */
export type CombineBody = {
  type: string;
  /** The id that stays. */
  keep: string;
  /** The ids that go; their edges are moved. */
  drop: string[];
  values?: "fill" | "keep" | "newest";
  /** Set, whatever the nodes had. */
  properties?: JsonObject | null;
  resolutions?: JsonObject[] | null;
  branch?: string | null;
  message?: string | null;
  /** Noted in the commit. */
  metadata?: { [name: string]: string } | null;
};

/** What became of nodes that are one now. */
export type CombinedNodes = {
  commit_id: string | null;
  type: string;
  kept: string;
  gone: string[];
  edges_moved: number;
  edges_folded: number;
  loops_removed: number;
};

/** What is said about a proposal, or about a node, an edge or a property of it. */
export type CommentBody = {
  text: string;
  entity?: { [name: string]: string } | null;
  /** What was looked at; the head of the source unless given. */
  commit?: string | null;
};

/** One commit of the graph. */
export type Commit = {
  id: string;
  parent: string | null;
  merged_parent: string | null;
  branch: string;
  version: number;
  actor: string | null;
  created_at: string;
  message: string | null;
  operation: string;
  maintenance: boolean;
  recovery: JsonObject[];
  metadata: { [name: string]: string };
};

/** The commit that a write made; null where nothing changed. */
export type CommitAnswer = {
  commit: string | null;
};

/** What a commit changed. */
export type CommitChangesAnswer = {
  cause: CauseAnswer;
  schema?: SchemaChange;
  queries?: QueriesChange;
  changes: ChangeAnswer[];
  next_page_token?: string;
  version: number | null;
};

/** Commits, newest first. */
export type CommitsPage = {
  commits: Commit[];
  next_page_token: string | null;
};

/** The commit that made one side of a conflict what it is: who, when and why. */
export type ConflictCause = {
  commit: string;
  actor: string | null;
  at: string;
  message: string | null;
  metadata: { [name: string]: string };
};

/** A table of a commit. */
export type DatasetAnswer = {
  key: string;
  rows: number;
  version: number;
  distinct: { [name: string]: number };
};

/** DiffAnswer */
export type DiffAnswer = {
  from: string;
  to: string;
  changes: ChangeAnswer[];
  next_page_token: string | null;
};

/** DiffSummary */
export type DiffSummary = {
  from: string;
  to: string;
  version: number;
  schema: SchemaChange | null;
  queries: QueriesChange | null;
  counts: { [name: string]: { [name: string]: number } } | null;
};

/** Edges of a node, as records of a load. */
export type EdgesPage = {
  commit: string;
  edges: JsonObject[];
  next_page_token: string | null;
};

/** Which vectors to compute. */
export type EmbedBody = {
  branch?: string | null;
  types?: string[] | null;
  reembed?: boolean;
  message?: string | null;
};

/** The engine that runs an operation, and the reason in plain words. */
export type EngineChoice = {
  engine: "auto" | "local" | "spark";
  reason: string;
};

/** A node or edge, with its properties in the form of a load. */
export type EntityAnswer = {
  kind: "node" | "edge";
  type: string;
  id: string;
  commit: string;
  properties: JsonObject;
  ends: [string, string] | null;
};

/** For each property the commit that gave it its value. */
export type EntityBlame = {
  commit: string;
  properties: { [name: string]: Commit };
};

/** What one commit did to a node or edge, against its first parent. */
export type EntityChange = {
  commit: Commit;
  op: "insert" | "update" | "delete";
  changed: string[];
  came_by_merge: boolean;
  before: JsonObject | null;
  after: JsonObject | null;
  went_into: string | null;
  took_in: string[];
};

/** The commits that changed a node or edge. */
export type EntityHistory = {
  commit: string;
  changes: EntityChange[];
  next_page_token: string | null;
};

/** The commit at which the entity was what it shall be. */
export type EntityResetBody = {
  revision: string;
  message?: string | null;
  metadata?: { [name: string]: string } | null;
};

/** A read query whose plan is asked for; with `analyze` it is run. */
export type ExplainBody = {
  query: string;
  name?: string | null;
  params?: JsonObject | null;
  branch?: string | null;
  snapshot?: string | null;
  analyze?: boolean;
  /** Seconds. */
  timeout?: number | null;
  optimise?: boolean;
};

/** One line of the tree. */
export type ExplainNode = {
  text: string;
  estimated_rows: number | null;
  rows: number | null;
  milliseconds: number | null;
  children: ExplainNode[];
  path: string | null;
  why: string;
  taken: string | null;
  requests: number;
  bytes: number;
};

/** How a query is executed; `str()` is a tree for people, `to_json()` is for programs. */
export type Explanation = {
  query: string;
  tree: ExplainNode[];
  statistics: { [name: string]: number };
  optimised: boolean;
  values: { [name: string]: number };
  rows: number | null;
  milliseconds: number | null;
  io: { [name: string]: number };
  choice: EngineChoice | null;
};

/** Which records to send. */
export type ExportBody = {
  branch?: string | null;
  snapshot?: string | null;
  type_names?: string[] | null;
};

/** What an export would send. */
export type ExportedTypes = {
  commit: string;
  nodes: string[];
  edges: string[];
};

/** What a poll of the feed gave; the cursor stands after a whole block, the token inside of one. */
export type FeedAnswer = {
  blocks: ChangeBlockAnswer[];
  cursor?: string;
  page_token?: string;
  caught_up: boolean;
  version: number;
  proposals?: ProposalEvent[];
};

/** One thing that does not add up. */
export type FindingAnswer = {
  code: string;
  where: string;
  what: string;
  advice: string;
  severity: string;
  mended: boolean;
};

/** Names of graphs; the token is there when a part was asked for. */
export type GraphNames = {
  graphs: string[];
  next_page_token?: string | null;
};

/** What a handle of a graph knows. */
export type HandleAnswer = {
  graph: string;
  id: string;
  branch: string;
  incarnation: string;
  actor: string | null;
  read_only: boolean;
  actions: string[];
};

/** How a worker is; which graphs there are is told to those who may know. */
export type Health = {
  status: "ok";
  version: string;
  internal_schema_version: number;
  state: string;
  graphs_served: number;
  graphs_quarantined: number;
  graphs?: string[];
  quarantined?: { [name: string]: string };
  revision?: number;
  takes_over?: boolean;
};

/** An index that is there or is asked for. */
export type IndexHealth = {
  property: string;
  kind: "btree" | "text" | "vector";
  is_built: boolean;
  rows_uncovered: number;
};

/** A job; times are microseconds since 1970. */
export type JobAnswer = {
  id: string;
  graph: string;
  kind: string;
  state: "queued" | "running" | "succeeded" | "failed" | "cancelled";
  actor: string | null;
  asked: JsonObject;
  created: number;
  started: number | null;
  ended: number | null;
  attempts: number;
  cancel_requested: boolean;
  result: Json;
  error: JsonObject | null;
};

/** Jobs, newest first. */
export type JobsPage = {
  jobs: JobAnswer[];
  next_page_token: string | null;
};

/** What a load did. */
export type LoadAnswer = {
  branch: string;
  base_branch: string | null;
  mode: "append" | "merge" | "patch" | "overwrite";
  nodes: LoadedType[];
  edges: LoadedType[];
  total_entities: number;
  rejected: number;
  rejected_records: string[];
  warnings: Json[];
  engine: string;
  engine_reason: string;
  seconds: number;
  bytes_read: number;
  bytes_written: number;
  phases: JsonObject;
  actor_id: string | null;
  commit: string | null;
};

/** Graph records to load, as lines of JSON in one string. */
export type LoadBody = {
  data: string;
  mode: "append" | "merge" | "patch" | "overwrite";
  branch?: string | null;
  /** Made of this one when it is not there. */
  from?: string | null;
  on_error?: "fail" | "quarantine";
  message?: string | null;
  /** Noted in the commit. */
  metadata?: { [name: string]: string } | null;
};

/** How many nodes or edges of a type were loaded. */
export type LoadedType = {
  name: string;
  entities_loaded: number;
};

/** What a merge did, or with `dry_run` would do. */
export type Merge = {
  outcome: string;
  commit_id: string | null;
  source: string;
  target: string;
  base: string;
  counts: { [name: string]: MergeCounts };
  conflicts: MergeConflict[];
  branch_deleted: boolean;
  branch_delete_error: string | null;
  edges: number[];
};

/** What to merge, and how. */
export type MergeBody = {
  source: string;
  target?: string;
  delete_branch?: boolean;
  strategy?: "entity" | "property" | "ours" | "theirs";
  resolutions?: JsonObject[] | null;
  dry_run?: boolean;
  message?: string | null;
  /** Noted in the commit. */
  metadata?: { [name: string]: string } | null;
  /** What finds duplicates. */
  same_as?: SameRuleBody[] | null;
};

/** One place where two branches disagree. */
export type MergeConflict = {
  kind: string;
  entity_kind: string;
  type_name: string;
  entity_id: string | null;
  message: string;
  base: JsonObject | null;
  ours: JsonObject | null;
  theirs: JsonObject | null;
  properties: string[];
  entities: string[];
  ours_by: ConflictCause | null;
  theirs_by: ConflictCause | null;
};

/** How many entities of one type a merge changes on the target. */
export type MergeCounts = {
  inserted: number;
  updated: number;
  deleted: number;
};

/** Whether a proposal can be merged now, and if not, why. */
export type Mergeability = {
  mergeable: boolean;
  reasons: Reason[];
  outcome: string | null;
  conflicts: MergeConflict[];
  checks: CheckResult[];
  approvals: Review[];
  approvals_needed: number;
  counts: { [name: string]: MergeCounts };
  source_commit: string | null;
  target_commit: string | null;
};

/** A mutation query. */
export type MutateBody = {
  query: string;
  name?: string | null;
  params?: JsonObject | null;
  branch?: string | null;
  message?: string | null;
  /** Noted in the commit. */
  metadata?: { [name: string]: string } | null;
  retry?: number;
};

/** What a mutation did; no commit where nothing changed. */
export type MutationAnswer = {
  branch: string;
  query_name: string | null;
  affected_nodes: number;
  affected_edges: number;
  warnings: string[];
  actor_id: string | null;
  commit: string | null;
};

/** What was done, and the commit that published it; no commit when there was nothing to do. */
export type Optimization = {
  commit_id: string | null;
  tables: TableOptimization[];
  seconds: number;
  engine: string;
  engine_reason: string;
};

/** Which branch to optimize, and whether only indexes are meant. */
export type OptimizeBody = {
  branch?: string | null;
  indexes_only?: boolean;
  engine?: "auto" | "local" | "spark";
};

/** A declared index that could not be built yet, and why; searching works without it. */
export type PendingIndex = {
  type_key: string;
  property: string;
  reason: string;
};

/** Where a commit is taken back, or brought to. */
export type PickBody = {
  branch?: string | null;
  strategy?: "entity" | "property" | "ours" | "theirs";
  resolutions?: JsonObject[] | null;
  dry_run?: boolean;
  message?: string | null;
  /** Noted in the commit. */
  metadata?: { [name: string]: string } | null;
};

/** The pipelines that the caller may run. */
export type Pipelines = {
  pipelines: JsonObject[];
};

/** The plan of a query: as text, as a tree for programs, and whole. */
export type PlanAnswer = {
  text: string;
  plan: JsonObject;
  explanation: Explanation;
};

/** What somebody wants to be merged, and what others have said about it. */
export type Proposal = {
  id: string;
  source: string;
  into: string;
  title: string;
  description: string;
  author: string | null;
  state: "open" | "merged" | "closed";
  created_at: string;
  updated_at: string;
  source_commit: string | null;
  target_commit: string | null;
  base_commit: string | null;
  strategy: string;
  reviewers: string[];
  comments: ProposalComment[];
  approvals: Review[];
  changes_requested: Review[];
  checks: CheckResult[];
  resolutions: JsonObject[];
  metadata: { [name: string]: string };
  same_as: JsonObject[];
  merged_commit: string | null;
  events: ProposalEvent[];
};

/** A branch that is proposed to another. */
export type ProposalBody = {
  source: string;
  into?: string;
  title?: string;
  description?: string;
  reviewers?: string[];
  /** Names of stored queries that must return no rows. */
  checks?: string[];
  strategy?: "entity" | "property" | "ours" | "theirs";
  /** Noted in the commit of the merge. */
  metadata?: { [name: string]: string } | null;
  /** What finds duplicates. */
  same_as?: SameRuleBody[] | null;
};

/** What somebody has said about a proposal, or about a node, an edge or a property of it. */
export type ProposalComment = {
  id: string;
  actor: string | null;
  at: string;
  text: string;
  commit: string | null;
  entity: { [name: string]: string } | null;
};

/** One thing that has happened to a proposal. */
export type ProposalEvent = {
  kind: string;
  actor: string | null;
  at: string;
  facts: JsonObject;
  proposal: string;
  number: number;
};

/** What the commit says, and whether the source goes. */
export type ProposalMergeBody = {
  message?: string | null;
  metadata?: { [name: string]: string } | null;
  delete_branch?: boolean;
  /** What was looked at: when the source is another by now, nothing is merged. */
  commit?: string | null;
};

/** Events of proposals, and from where to go on. */
export type ProposalPage = {
  events: ProposalEvent[];
  cursor: string;
};

/** Why. */
export type ProposalTextBody = {
  text?: string;
};

/** Proposals, newest first. */
export type ProposalsPage = {
  proposals: Proposal[];
  next_page_token: string | null;
};

/** What the proposals into a branch need to be merged; nothing else may change what such a branch says. */
export type Protection = {
  approvals: number;
  checks: string[];
};

/** What proposals into a branch need. */
export type ProtectionBody = {
  approvals?: number;
  /** Names of stored queries that must return no rows. */
  checks?: string[];
};

/** What became of the stored queries; not `applied` when they were the same. */
export type QueriesApply = {
  applied: boolean;
  commit_id: string | null;
  added: string[];
  changed: string[];
  removed: string[];
};

/** Stored queries as files with their texts, or the names of those to remove. */
export type QueriesBody = {
  /** Texts of `.gq` files, by name. */
  files?: { [name: string]: string } | null;
  /** Names; then there are no files. */
  remove?: string[] | null;
  /** `extend` keeps the queries that are not named. */
  mode?: "replace" | "extend";
  branch?: string | null;
  message?: string | null;
  /** Noted in the commit. */
  metadata?: { [name: string]: string } | null;
};

/** Other stored queries: the texts of those that differ, by name. What was changed is in both. */
export type QueriesChange = {
  before: { [name: string]: string };
  after: { [name: string]: string };
};

/** Rows of a read query. */
export type QueryAnswer = {
  query_name: string | null;
  target: ReadTarget;
  row_count: number;
  columns: ColumnAnswer[];
  rows: JsonObject[];
  graph_commit_id: string;
  engine: string;
};

/** A read query, and what it is asked of. */
export type QueryBody = {
  query: string;
  name?: string | null;
  params?: JsonObject | null;
  branch?: string | null;
  /** A commit, a tag, or what else stands for a commit. */
  snapshot?: string | null;
  /** Seconds. */
  timeout?: number | null;
  optimise?: boolean;
  engine?: "auto" | "local" | "spark";
  /** Whether NDJSON and Arrow are sent while rows are made. */
  stream?: boolean;
  /** Rows of a batch of a stream. */
  batch_rows?: number;
};

/** A parameter of a stored query. */
export type QueryParameterAnswer = {
  name: string;
  kind: string;
  item_kind?: string;
  vector_dim?: number;
  nullable: boolean;
};

/** What a query was asked of. */
export type ReadTarget = {
  branch: string | null;
  snapshot: string | null;
};

/** That requests may come. */
export type Readiness = {
  status: "ready";
};

/** Why a proposal cannot be merged now. */
export type Reason = {
  code: string;
  message: string;
};

/** What a rebase did. */
export type Rebase = {
  outcome: string;
  branch: string;
  onto: string;
  base: string;
  commit_id: string;
  commits: string[];
  conflicts: MergeConflict[];
};

/** What a branch should begin after. */
export type RebaseBody = {
  onto?: string;
  strategy?: "entity" | "property" | "ours" | "theirs";
  resolutions?: JsonObject[] | null;
  dry_run?: boolean;
};

/** Another name for a branch. */
export type RenameBody = {
  name: string;
};

/** What a repair found, and with `confirm` fixed. */
export type RepairAnswer = {
  confirmed: boolean;
  findings: FindingAnswer[];
  branches: number;
  commits: number;
  tables: number;
  files: number;
  rows: number;
  ok: boolean;
};

/** Whether to fix what needs no guess, and whether to read every byte. */
export type RepairBody = {
  confirm?: boolean;
  scrub?: boolean;
};

/** The commit whose content a branch gets. */
export type ResetBody = {
  commit: string;
  dry_run?: boolean;
  message?: string | null;
  /** Noted in the commit. */
  metadata?: { [name: string]: string } | null;
};

/** Answers to conflicts, as a merge takes them; one whose `take` is null takes an earlier one away. */
export type ResolutionsBody = {
  resolutions: JsonObject[];
  /** Whether earlier answers to other conflicts go. */
  replace?: boolean;
};

/** A verdict about one state of the source. */
export type Review = {
  actor: string;
  commit: string;
  at: string;
  is_current: boolean;
  text: string;
};

/** The arguments of a stored query; what only reads or only mutations take is refused for the other. */
export type RunBody = {
  params?: JsonObject | null;
  branch?: string | null;
  /** A commit, a tag, or what else stands for a commit. */
  snapshot?: string | null;
  /** Which kind the query must be of. */
  expect_mutation?: boolean | null;
  /** Seconds. */
  timeout?: number | null;
  engine?: "auto" | "local" | "spark";
  message?: string | null;
  /** Noted in the commit. */
  metadata?: { [name: string]: string } | null;
  retry?: number;
};

/** The ids of nodes that are alike. */
export type SameGroups = {
  groups: string[][];
  next_page_token?: string | null;
};

/** What says that nodes of a type may be duplicates: values of some properties, or a query. */
export type SameRuleBody = {
  type: string;
  on?: string[] | null;
  /** A stored query of the target that returns two ids. */
  query?: string | null;
};

/** The schema of a commit: its text, and its compiled form. */
export type SchemaAnswer = {
  branch: string;
  schema_source: string;
  catalog: JsonObject;
};

/** What a schema change did; not `applied` when the schemas were the same. */
export type SchemaApply = {
  applied: boolean;
  commit_id: string | null;
  steps: JsonObject[];
  warnings: string[];
};

/** Another schema, and what it may take away. */
export type SchemaBody = {
  schema_source: string;
  branch?: string | null;
  allow_drop?: boolean;
  allow_data_loss?: boolean;
  mode?: "replace" | "extend";
  /** Whether stored queries may stop fitting. */
  allow_broken_queries?: boolean;
  /** What errors call the text. */
  file?: string;
  message?: string | null;
  /** Noted in the commit. */
  metadata?: { [name: string]: string } | null;
};

/** Another schema: its text, what leads to it, and the compiled form, which knows identities. */
export type SchemaChange = {
  source: string;
  steps: JsonObject[];
  catalog: JsonObject;
  source_before: string | null;
};

/** The steps to another schema. */
export type SchemaPlanAnswer = {
  supported: boolean;
  steps: JsonObject[];
  warnings: string[];
};

/** A number of files and their bytes. */
export type Size = {
  files: number;
  bytes: number;
};

/** A commit and its tables. */
export type SnapshotAnswer = {
  branch: string;
  commit: string;
  version: number;
  record: Commit;
  datasets: DatasetAnswer[];
};

/** Stored queries, by name. */
export type StoredQueries = {
  queries: StoredQueryAnswer[];
  next_page_token?: string | null;
};

/** A stored query: what it says and takes; its text where that was asked for. */
export type StoredQueryAnswer = {
  name: string;
  tool_name: string;
  description: string | null;
  instruction: string | null;
  mutation: boolean;
  params: QueryParameterAnswer[];
  text?: string;
  file?: string;
  line?: number;
};

/** What cleanup did to one table, or with `dry_run` would do. */
export type TableCleanup = {
  table_key: string;
  location: string;
  removed: Size;
  kept: Size;
  waiting: Size;
  error: string | null;
};

/** How one table is stored. */
export type TableHealth = {
  type_key: string;
  rows: number;
  fragments: number;
  rows_deleted: number;
  indexes: IndexHealth[];
};

/** What was done to one table. */
export type TableOptimization = {
  type_key: string;
  fragments_removed: number;
  fragments_added: number;
  built: WantedIndex[];
  folded: WantedIndex[];
  pending_indexes: PendingIndex[];
  skipped: string | null;
  committed: boolean;
};

/** How the tables of a branch are stored. */
export type TablesAnswer = {
  tables: TableHealth[];
};

/** A name for a commit, which stays readable as long as the tag exists. */
export type Tag = {
  name: string;
  commit: string;
  branch: string;
  version: number;
  actor: string | null;
  created_at: string;
};

/** A name for a commit, or for a branch's head. */
export type TagBody = {
  name: string;
  commit?: string | null;
  branch?: string | null;
};

/** Tags, by name. */
export type TagsPage = {
  tags: Tag[];
  next_page_token?: string | null;
};

/** Whose commits are taken back from a branch. */
export type UndoBody = {
  actor: string;
  /** What this commit has stays. */
  since?: string | null;
  /** What the metadata of the commits must say. */
  where?: { [name: string]: string } | null;
  branch?: string | null;
  strategy?: "entity" | "property" | "ours" | "theirs" | null;
  resolutions?: JsonObject[] | null;
  dry_run?: boolean;
  message?: string | null;
  /** Noted in the commit. */
  metadata?: { [name: string]: string } | null;
};

/** An index that a table should have. */
export type WantedIndex = {
  column: string;
  kind: "btree" | "text" | "vector";
};

/** The routes of one server. Integers beyond 2^53 - 1 are strings. */
export class OmniGraphClient {
  constructor(
    private readonly address: string,
    private readonly token?: string,
    // A browser's `fetch` may not be called as a method of another object.
    private readonly fetcher: typeof fetch = (...given) => fetch(...given),
  ) {}

  private async send(
    method: string,
    path: string,
    query: Record<string, unknown>,
    headers: Record<string, unknown>,
    body: BodyInit | undefined,
    options: CallOptions,
  ): Promise<Response> {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      for (const item of Array.isArray(value) ? value : [value]) {
        if (item !== undefined && item !== null) asked.append(name, String(item));
      }
    }
    const sent: Record<string, string> = { ...options.headers };
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined && value !== null) sent[name] = String(value);
    }
    if (this.token !== undefined) sent["Authorization"] = `Bearer ${this.token}`;
    const text = asked.toString();
    const address = this.address.replace(/\/+$/, "") + path + (text ? `?${text}` : "");
    const answer = await this.fetcher(address, { method, headers: sent, body, signal: options.signal });
    if (!answer.ok) throw await readError(answer);
    return answer;
  }

  /** Say that the server works, and to those who may list them, which graphs it could not open. */
  async showHealth(given: Record<string, never> = {}, options: CallOptions = {}): Promise<Health> {
    return (await (await this.send("GET", `/healthz`, {}, {}, undefined, options)).json()) as Health;
  }

  /** Say whether requests should be sent here; a worker that stops says 503 (`unavailable`). */
  async showReadiness(given: Record<string, never> = {}, options: CallOptions = {}): Promise<Readiness> {
    return (await (await this.send("GET", `/readyz`, {}, {}, undefined, options)).json()) as Readiness;
  }

  /** Return the metrics of all workers, as Prometheus reads them. */
  async showMetrics(given: Record<string, never> = {}, options: CallOptions = {}): Promise<Response> {
    return this.send("GET", `/metrics`, {}, {}, undefined, options);
  }

  /** Return the names of the graphs that are served, sorted. */
  async listGraphs(given: { limit?: number | null; pageToken?: string | null } = {}, options: CallOptions = {}): Promise<GraphNames> {
    return (await (await this.send("GET", `/graphs`, { "limit": given.limit, "page_token": given.pageToken }, {}, undefined, options)).json()) as GraphNames;
  }

  /** Return which graph this is, and which branch a handle on it would work on. */
  async showGraph(given: { graph: string; branch?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<HandleAnswer> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}`, { "branch": given.branch }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as HandleAnswer;
  }

  /** Return what the caller may do on each branch; who administers the graph is told it of every actor. */
  async showAccess(given: { graph: string; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<AccessAnswer> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/access`, {}, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as AccessAnswer;
  }

  /** Run a read query; `Accept` chooses JSON, NDJSON or an Arrow stream. */
  async runQuery(given: { graph: string; accept?: string | null; omnigraphHandle?: string | null; body: QueryBody }, options: CallOptions = {}): Promise<Response> {
    return this.send("POST", `/graphs/${inPath(given.graph)}/query`, {}, { "Content-Type": "application/json", "accept": given.accept, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options);
  }

  /** Return the plan of a read query. */
  async explainQuery(given: { graph: string; omnigraphHandle?: string | null; body: ExplainBody }, options: CallOptions = {}): Promise<PlanAnswer> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/explain`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as PlanAnswer;
  }

  /** Return the tables of a commit, sorted by key. */
  async showSnapshot(given: { graph: string; branch?: string | null; commit?: string | null; version?: number | null; tag?: string | null; timestamp?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<SnapshotAnswer> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/snapshot`, { "branch": given.branch, "commit": given.commit, "version": given.version, "tag": given.tag, "timestamp": given.timestamp }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as SnapshotAnswer;
  }

  /** Return which types an export would send, and of which commit. */
  async showExported(given: { graph: string; omnigraphHandle?: string | null; body: ExportBody }, options: CallOptions = {}): Promise<ExportedTypes> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/export/types`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as ExportedTypes;
  }

  /** Send every node and edge, in the load format. */
  async exportGraph(given: { graph: string; omnigraphHandle?: string | null; body: ExportBody }, options: CallOptions = {}): Promise<Response> {
    return this.send("POST", `/graphs/${inPath(given.graph)}/export`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options);
  }

  /** Run a mutation query as one commit. */
  async runMutation(given: { graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: MutateBody }, options: CallOptions = {}): Promise<MutationAnswer> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/mutate`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as MutationAnswer;
  }

  /** Run a mutation query on the condition that a header names, which is needed here. */
  async runMutationIf(given: { graph: string; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; omnigraphHandle?: string | null; body: MutateBody }, options: CallOptions = {}): Promise<MutationAnswer> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/mutate/if-graph-commit`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as MutationAnswer;
  }

  /** Load graph records as one commit: lines of JSON in a string. */
  async loadText(given: { graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: LoadBody }, options: CallOptions = {}): Promise<LoadAnswer> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/load`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as LoadAnswer;
  }

  /** Load the body as one commit: graph records as NDJSON, or rows of one type as CSV, Parquet or Arrow. */
  async loadRecords(given: { format: "ndjson" | "csv" | "parquet" | "arrow"; graph: string; mode: "append" | "merge" | "patch" | "overwrite"; branch?: string | null; from?: string | null; type?: string | null; message?: string | null; engine?: "auto" | "local" | "spark"; onError?: "fail" | "quarantine"; mapping?: string | null; rules?: string | null; metadata?: string | null; source?: string | null; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: BodyInit }, options: CallOptions = {}): Promise<LoadAnswer> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/load/${inPath(given.format)}`, { "mode": given.mode, "branch": given.branch, "from": given.from, "type": given.type, "message": given.message, "engine": given.engine, "on_error": given.onError, "mapping": given.mapping, "rules": given.rules, "metadata": given.metadata, "source": given.source }, { "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, given.body, options)).json()) as LoadAnswer;
  }

  /** Return the stored queries, by name: what they say and take; with `texts`, their texts. */
  async listQueries(given: { graph: string; branch?: string | null; snapshot?: string | null; texts?: boolean; limit?: number | null; pageToken?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<StoredQueries> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/queries`, { "branch": given.branch, "snapshot": given.snapshot, "texts": given.texts, "limit": given.limit, "page_token": given.pageToken }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as StoredQueries;
  }

  /** Store queries, or remove some, in one commit; the texts are those of files, by name. */
  async applyQueries(given: { graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: QueriesBody }, options: CallOptions = {}): Promise<QueriesApply> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/queries`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as QueriesApply;
  }

  /** Return one stored query with its text. */
  async showQuery(given: { name: string; graph: string; branch?: string | null; snapshot?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<StoredQueryAnswer> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/queries/${inPath(given.name)}`, { "branch": given.branch, "snapshot": given.snapshot }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as StoredQueryAnswer;
  }

  /** Run a stored query: a read answers as `/query` does, a mutation as `/mutate` does. */
  async runStoredQuery(given: { name: string; graph: string; accept?: string | null; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body?: RunBody | null }, options: CallOptions = {}): Promise<Response> {
    return this.send("POST", `/graphs/${inPath(given.graph)}/queries/${inPath(given.name)}`, {}, { "Content-Type": "application/json", "accept": given.accept, "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options);
  }

  /** Run a stored query on the condition that a header names, which is needed here. */
  async runStoredQueryIf(given: { name: string; graph: string; accept?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; omnigraphHandle?: string | null; body?: RunBody | null }, options: CallOptions = {}): Promise<Response> {
    return this.send("POST", `/graphs/${inPath(given.graph)}/queries/${inPath(given.name)}/if-graph-commit`, {}, { "Content-Type": "application/json", "accept": given.accept, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options);
  }

  /** Return the names of branches: main first, then by name. */
  async listBranches(given: { graph: string; limit?: number | null; pageToken?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<BranchesPage> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/branches`, { "limit": given.limit, "page_token": given.pageToken }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as BranchesPage;
  }

  /** Make a branch. */
  async createBranch(given: { graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; body: BranchBody }, options: CallOptions = {}): Promise<BranchInfo> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/branches`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as BranchInfo;
  }

  /** Bring what a branch has done into another, as one commit. */
  async mergeBranch(given: { graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: MergeBody }, options: CallOptions = {}): Promise<Merge> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/branches/merge`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as Merge;
  }

  /** Return where a branch stands: ahead, behind, last writer. */
  async describeBranch(given: { name: string; graph: string; comparedWith?: string; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<BranchInfo> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/branches/${inPath(given.name)}/info`, { "compared_with": given.comparedWith }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as BranchInfo;
  }

  /** Give a branch another name. */
  async renameBranch(given: { name: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; omnigraphIfGraphCommit?: string | null; body: RenameBody }, options: CallOptions = {}): Promise<BranchName> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/branches/${inPath(given.name)}/rename`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as BranchName;
  }

  /** Give a branch the content and schema of a commit, as a new commit. */
  async resetBranch(given: { name: string; graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: ResetBody }, options: CallOptions = {}): Promise<Merge> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/branches/${inPath(given.name)}/reset`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as Merge;
  }

  /** Make the commits of a branch again on top of another's head. */
  async rebaseBranch(given: { name: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; omnigraphIfGraphCommit?: string | null; body: RebaseBody }, options: CallOptions = {}): Promise<Rebase> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/branches/${inPath(given.name)}/rebase`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as Rebase;
  }

  /** Let nothing but proposals change a branch. */
  async protectBranch(given: { name: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; body: ProtectionBody }, options: CallOptions = {}): Promise<void> {
    await this.send("PUT", `/graphs/${inPath(given.graph)}/branches/${inPath(given.name)}/protection`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options);
  }

  /** Let writers change a branch directly again. */
  async unprotectBranch(given: { name: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<void> {
    await this.send("DELETE", `/graphs/${inPath(given.graph)}/branches/${inPath(given.name)}/protection`, {}, { "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, undefined, options);
  }

  /** Bring a deleted branch back; the condition is about the commit that was its last. */
  async restoreBranch(given: { name: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; omnigraphIfGraphCommit?: string | null }, options: CallOptions = {}): Promise<BranchInfo> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/branches/${inPath(given.name)}/restore`, {}, { "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, undefined, options)).json()) as BranchInfo;
  }

  /** Delete a branch. */
  async deleteBranch(given: { name: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; omnigraphIfGraphCommit?: string | null }, options: CallOptions = {}): Promise<void> {
    await this.send("DELETE", `/graphs/${inPath(given.graph)}/branches/${inPath(given.name)}`, {}, { "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, undefined, options);
  }

  /** Return tags, by name. */
  async listTags(given: { graph: string; limit?: number | null; pageToken?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<TagsPage> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/tags`, { "limit": given.limit, "page_token": given.pageToken }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as TagsPage;
  }

  /** Name a commit. */
  async createTag(given: { graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; body: TagBody }, options: CallOptions = {}): Promise<Tag> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/tags`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as Tag;
  }

  /** Remove a name; the condition is about the commit that it names. */
  async deleteTag(given: { name: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; omnigraphIfGraphCommit?: string | null }, options: CallOptions = {}): Promise<void> {
    await this.send("DELETE", `/graphs/${inPath(given.graph)}/tags/${inPath(given.name)}`, {}, { "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, undefined, options);
  }

  /** Return the commits that a branch's head, or `start`, can reach, newest first, a page at a time. All pages are of the head that the first one saw. */
  async listCommits(given: { graph: string; branch?: string | null; actor?: string | null; limit?: number; start?: string | null; where?: string | null; pageToken?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<CommitsPage> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/commits`, { "branch": given.branch, "actor": given.actor, "limit": given.limit, "start": given.start, "where": given.where, "page_token": given.pageToken }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as CommitsPage;
  }

  /** Return one commit, of any branch. */
  async showCommit(given: { commit: string; graph: string; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<Commit> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/commits/${inPath(given.commit)}`, {}, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as Commit;
  }

  /** Return what a commit made different from its first parent, a page at a time. */
  async showChanges(given: { commit: string; graph: string; limit?: number | null; maxBytes?: number | null; pageToken?: string | null; kinds?: ("node" | "edge")[] | null; types?: string[] | null; ops?: ("insert" | "update" | "delete")[] | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<CommitChangesAnswer> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/commits/${inPath(given.commit)}/changes`, { "limit": given.limit, "max_bytes": given.maxBytes, "page_token": given.pageToken, "kinds": given.kinds, "types": given.types, "ops": given.ops }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as CommitChangesAnswer;
  }

  /** Take back from a branch what an actor has done. */
  async revertActor(given: { graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: UndoBody }, options: CallOptions = {}): Promise<Merge> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/commits/revert`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as Merge;
  }

  /** Take the change of one commit back from a branch. */
  async revertCommit(given: { commit: string; graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: PickBody }, options: CallOptions = {}): Promise<Merge> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/commits/${inPath(given.commit)}/revert`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as Merge;
  }

  /** Bring the change of one commit to a branch. */
  async pickCommit(given: { commit: string; graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: PickBody }, options: CallOptions = {}): Promise<Merge> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/commits/${inPath(given.commit)}/cherry-pick`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as Merge;
  }

  /** Return the changes from one branch or commit to another, a page at a time. */
  async showDiff(given: { graph: string; from: string; to: string; images?: boolean; limit?: number | null; maxBytes?: number | null; pageToken?: string | null; kinds?: ("node" | "edge")[] | null; types?: string[] | null; ops?: ("insert" | "update" | "delete")[] | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<DiffAnswer> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/diff`, { "from": given.from, "to": given.to, "images": given.images, "limit": given.limit, "max_bytes": given.maxBytes, "page_token": given.pageToken, "kinds": given.kinds, "types": given.types, "ops": given.ops }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as DiffAnswer;
  }

  /** Return how many changes there are by table, and how schema and stored queries differ. */
  async sumDiff(given: { graph: string; from: string; to: string; counts?: boolean; kinds?: ("node" | "edge")[] | null; types?: string[] | null; ops?: ("insert" | "update" | "delete")[] | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<DiffSummary> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/diff/summary`, { "from": given.from, "to": given.to, "counts": given.counts, "kinds": given.kinds, "types": given.types, "ops": given.ops }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as DiffSummary;
  }

  /** Return what a branch committed after a cursor; with `events` also what has happened to proposals. */
  async pollChanges(given: { graph: string; branch?: string | null; cursor?: string | null; start?: string | null; pageToken?: string | null; limit?: number | null; maxBytes?: number | null; commits?: number | null; events?: ("commits" | "proposals")[] | null; kinds?: ("node" | "edge")[] | null; types?: string[] | null; ops?: ("insert" | "update" | "delete")[] | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<FeedAnswer> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/changes`, { "branch": given.branch, "cursor": given.cursor, "start": given.start, "page_token": given.pageToken, "limit": given.limit, "max_bytes": given.maxBytes, "commits": given.commits, "events": given.events, "kinds": given.kinds, "types": given.types, "ops": given.ops }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as FeedAnswer;
  }

  /** Send every entity of a branch's head, then the cursor from which the feed continues. */
  async takeBaseline(given: { graph: string; branch?: string | null; kinds?: ("node" | "edge")[] | null; types?: string[] | null; ops?: ("insert" | "update" | "delete")[] | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<Response> {
    return this.send("POST", `/graphs/${inPath(given.graph)}/changes/baseline`, { "branch": given.branch, "kinds": given.kinds, "types": given.types, "ops": given.ops }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options);
  }

  /** Carry out a block of another graph's feed on this one; one that is there already changes nothing. */
  async applyChanges(given: { graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; body: ApplyBody }, options: CallOptions = {}): Promise<CommitAnswer> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/changes/apply`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as CommitAnswer;
  }

  /** Return the bytes of a blob; with `Range`, some of them. */
  async readBlob(given: { graph: string; entity: "node" | "edge"; type: string; id: string; property: string; branch?: string | null; snapshot?: string | null; range?: string | null; ifNoneMatch?: string | null; ifRange?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<Response> {
    return this.send("GET", `/graphs/${inPath(given.graph)}/blob`, { "entity": given.entity, "type": given.type, "id": given.id, "property": given.property, "branch": given.branch, "snapshot": given.snapshot }, { "range": given.range, "if-none-match": given.ifNoneMatch, "if-range": given.ifRange, "omnigraph-handle": given.omnigraphHandle }, undefined, options);
  }

  /** Return the size of a blob, and whether there is one. */
  async showBlob(given: { graph: string; entity: "node" | "edge"; type: string; id: string; property: string; branch?: string | null; snapshot?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<Response> {
    return this.send("HEAD", `/graphs/${inPath(given.graph)}/blob`, { "entity": given.entity, "type": given.type, "id": given.id, "property": given.property, "branch": given.branch, "snapshot": given.snapshot }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options);
  }

  /** Store the body as the bytes of a blob, as one commit; a text as a load takes it (`base64:…`). */
  async putBlob(given: { graph: string; message?: string | null; entity: "node" | "edge"; type: string; id: string; property: string; branch?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; ifMatch?: string | null; omnigraphHandle?: string | null; body: BodyInit }, options: CallOptions = {}): Promise<BlobWritten> {
    return (await (await this.send("PUT", `/graphs/${inPath(given.graph)}/blob`, { "message": given.message, "entity": given.entity, "type": given.type, "id": given.id, "property": given.property, "branch": given.branch }, { "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit, "if-match": given.ifMatch, "omnigraph-handle": given.omnigraphHandle }, given.body, options)).json()) as BlobWritten;
  }

  /** Set a blob to null as one commit. */
  async clearBlob(given: { graph: string; message?: string | null; entity: "node" | "edge"; type: string; id: string; property: string; branch?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; ifMatch?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<BlobWritten> {
    return (await (await this.send("DELETE", `/graphs/${inPath(given.graph)}/blob`, { "message": given.message, "entity": given.entity, "type": given.type, "id": given.id, "property": given.property, "branch": given.branch }, { "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit, "if-match": given.ifMatch, "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as BlobWritten;
  }

  /** Return the size of a blob, null when there is none, and the commit that it is of. */
  async describeBlob(given: { graph: string; entity: "node" | "edge"; type: string; id: string; property: string; branch?: string | null; snapshot?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<BlobAnswer> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/blob/info`, { "entity": given.entity, "type": given.type, "id": given.id, "property": given.property, "branch": given.branch, "snapshot": given.snapshot }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as BlobAnswer;
  }

  /** Return a node or edge with its properties, in the form of a load. */
  async showEntity(given: { graph: string; type: string; id: string; branch?: string | null; snapshot?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<EntityAnswer> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/entity`, { "type": given.type, "id": given.id, "branch": given.branch, "snapshot": given.snapshot }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as EntityAnswer;
  }

  /** Return edges of a node, as records of a load, a page at a time; all pages are of one commit. */
  async listEdges(given: { graph: string; types?: string[] | null; direction?: "out" | "in" | "both"; limit?: number; skip?: number; pageToken?: string | null; type: string; id: string; branch?: string | null; snapshot?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<EdgesPage> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/entity/edges`, { "types": given.types, "direction": given.direction, "limit": given.limit, "skip": given.skip, "page_token": given.pageToken, "type": given.type, "id": given.id, "branch": given.branch, "snapshot": given.snapshot }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as EdgesPage;
  }

  /** Return the commits that changed a node or edge, newest first, with what was before and after. */
  async showHistory(given: { graph: string; limit?: number; skip?: number; earlier?: boolean; pageToken?: string | null; type: string; id: string; branch?: string | null; snapshot?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<EntityHistory> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/entity/history`, { "limit": given.limit, "skip": given.skip, "earlier": given.earlier, "page_token": given.pageToken, "type": given.type, "id": given.id, "branch": given.branch, "snapshot": given.snapshot }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as EntityHistory;
  }

  /** Return for each property the commit that gave it the value that it has. */
  async showBlame(given: { graph: string; type: string; id: string; branch?: string | null; snapshot?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<EntityBlame> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/entity/blame`, { "type": given.type, "id": given.id, "branch": given.branch, "snapshot": given.snapshot }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as EntityBlame;
  }

  /** Make a node or edge what it was at another commit, as one new commit. */
  async resetEntity(given: { graph: string; type: string; id: string; branch?: string | null; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: EntityResetBody }, options: CallOptions = {}): Promise<CommitAnswer> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/entity/reset`, { "type": given.type, "id": given.id, "branch": given.branch }, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as CommitAnswer;
  }

  /** Combine duplicates: make one node of several, and move the edges of the others to it. */
  async combineEntities(given: { graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: CombineBody }, options: CallOptions = {}): Promise<CombinedNodes> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/entities/combine`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as CombinedNodes;
  }

  /** Return the ids of nodes that have the same values of some properties, group by group. */
  async findSameEntities(given: { graph: string; type: string; on: string[]; branch?: string | null; snapshot?: string | null; limit?: number | null; pageToken?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<SameGroups> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/entities/same`, { "type": given.type, "on": given.on, "branch": given.branch, "snapshot": given.snapshot, "limit": given.limit, "page_token": given.pageToken }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as SameGroups;
  }

  /** Return the text of the schema, and its compiled form, which has the identities of types. */
  async showSchema(given: { graph: string; branch?: string | null; snapshot?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<SchemaAnswer> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/schema`, { "branch": given.branch, "snapshot": given.snapshot }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as SchemaAnswer;
  }

  /** Return the steps that would lead to another schema. */
  async planSchema(given: { graph: string; omnigraphHandle?: string | null; body: SchemaBody }, options: CallOptions = {}): Promise<SchemaPlanAnswer> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/schema/plan`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as SchemaPlanAnswer;
  }

  /** Change the schema of a branch, and the data with it, in one commit. */
  async applySchema(given: { graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: SchemaBody }, options: CallOptions = {}): Promise<SchemaApply> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/schema/apply`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as SchemaApply;
  }

  /** Return how the tables of a branch are stored: rows, fragments, indexes and what they do not know. */
  async showTables(given: { graph: string; branch?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<TablesAnswer> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/tables`, { "branch": given.branch }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as TablesAnswer;
  }

  /** Join fragments, fold new rows into indexes and build declared ones. */
  async optimizeGraph(given: { graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; body: OptimizeBody }, options: CallOptions = {}): Promise<Optimization> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/optimize`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as Optimization;
  }

  /** Compute the missing vectors of `@embed` properties as one commit, or all with `reembed`. */
  async embedTexts(given: { graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: EmbedBody }, options: CallOptions = {}): Promise<Backfill> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/embed`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as Backfill;
  }

  /** Drop old commits and remove files that nothing needs. */
  async cleanGraph(given: { graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; body: CleanupBody }, options: CallOptions = {}): Promise<Cleanup> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/cleanup`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as Cleanup;
  }

  /** Verify the whole graph, and perhaps fix what needs no guess. */
  async repairGraph(given: { graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; body: RepairBody }, options: CallOptions = {}): Promise<RepairAnswer> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/repair`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as RepairAnswer;
  }

  /** Load the body, or files at an address, as one commit; the request is answered when the job is there. */
  async beginLoad(given: { graph: string; format: "ndjson" | "csv" | "parquet" | "arrow"; mode: "append" | "merge" | "patch" | "overwrite"; address?: string | null; branch?: string | null; from?: string | null; type?: string | null; message?: string | null; engine?: "auto" | "local" | "spark"; onError?: "fail" | "quarantine"; mapping?: string | null; rules?: string | null; metadata?: string | null; source?: string | null; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null }, options: CallOptions = {}): Promise<JobAnswer> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/jobs/load`, { "format": given.format, "mode": given.mode, "address": given.address, "branch": given.branch, "from": given.from, "type": given.type, "message": given.message, "engine": given.engine, "on_error": given.onError, "mapping": given.mapping, "rules": given.rules, "metadata": given.metadata, "source": given.source }, { "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, undefined, options)).json()) as JobAnswer;
  }

  /** Begin what the route of the same name does, as a job: `{}` where nothing need be said. */
  async beginJob(given: { kind: "optimize" | "embed" | "cleanup" | "repair" | "backup" | "export" | "merge" | "schema"; graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: JsonObject }, options: CallOptions = {}): Promise<JobAnswer> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/jobs/${inPath(given.kind)}`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as JobAnswer;
  }

  /** Return the pipelines of the graph that the caller may run: only a cluster declares any. */
  async listPipelines(given: { graph: string; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<Pipelines> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/pipelines`, {}, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as Pipelines;
  }

  /** Begin a pipeline as a job: the load that the cluster declares under a name. */
  async runPipeline(given: { name: string; graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null }, options: CallOptions = {}): Promise<JobAnswer> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/pipelines/${inPath(given.name)}`, {}, { "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, undefined, options)).json()) as JobAnswer;
  }

  /** Return the jobs of the graph, newest first, a page at a time. */
  async listJobs(given: { graph: string; state?: "queued" | "running" | "succeeded" | "failed" | "cancelled" | null; kind?: string | null; limit?: number; pageToken?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<JobsPage> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/jobs`, { "state": given.state, "kind": given.kind, "limit": given.limit, "page_token": given.pageToken }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as JobsPage;
  }

  /** Return how a job stands, and what came of it. */
  async showJob(given: { id: string; graph: string; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<JobAnswer> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/jobs/${inPath(given.id)}`, {}, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as JobAnswer;
  }

  /** Ask a job to stop: it does at its next checkpoint, and what it has not published by then never is. */
  async cancelJob(given: { id: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<JobAnswer> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/jobs/${inPath(given.id)}/cancel`, {}, { "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as JobAnswer;
  }

  /** Send what happens to a job, as it happens, until its end (`text/event-stream`). */
  async followJob(given: { id: string; graph: string; lastEventId?: number | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<Response> {
    return this.send("GET", `/graphs/${inPath(given.graph)}/jobs/${inPath(given.id)}/events`, {}, { "last-event-id": given.lastEventId, "omnigraph-handle": given.omnigraphHandle }, undefined, options);
  }

  /** Propose to merge a branch into another. */
  async createProposal(given: { graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body: ProposalBody }, options: CallOptions = {}): Promise<Proposal> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/proposals`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as Proposal;
  }

  /** Return proposals, newest first. */
  async listProposals(given: { graph: string; state?: "open" | "merged" | "closed" | null; source?: string | null; into?: string | null; limit?: number; pageToken?: string | null; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<ProposalsPage> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/proposals`, { "state": given.state, "source": given.source, "into": given.into, "limit": given.limit, "page_token": given.pageToken }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as ProposalsPage;
  }

  /** Return what has happened to proposals after a cursor. */
  async pollProposals(given: { graph: string; cursor?: string | null; limit?: number; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<ProposalPage> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/proposals/events`, { "cursor": given.cursor, "limit": given.limit }, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as ProposalPage;
  }

  /** Return a proposal with what has been said about it. */
  async showProposal(given: { id: string; graph: string; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<Proposal> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/proposals/${inPath(given.id)}`, {}, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as Proposal;
  }

  /** Return whether a proposal can be merged now, and if not, why. */
  async judgeProposal(given: { id: string; graph: string; omnigraphHandle?: string | null }, options: CallOptions = {}): Promise<Mergeability> {
    return (await (await this.send("GET", `/graphs/${inPath(given.graph)}/proposals/${inPath(given.id)}/mergeable`, {}, { "omnigraph-handle": given.omnigraphHandle }, undefined, options)).json()) as Mergeability;
  }

  /** Say something about a proposal, or about an entity of it. */
  async commentOnProposal(given: { id: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; body: CommentBody }, options: CallOptions = {}): Promise<Proposal> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/proposals/${inPath(given.id)}/comments`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as Proposal;
  }

  /** Approve a proposal as its source is now. */
  async approveProposal(given: { id: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; body?: ApproveBody | null }, options: CallOptions = {}): Promise<Proposal> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/proposals/${inPath(given.id)}/approve`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as Proposal;
  }

  /** Ask for changes: until then the proposal is not merged. */
  async requestChanges(given: { id: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; body: ChangesRequestBody }, options: CallOptions = {}): Promise<Proposal> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/proposals/${inPath(given.id)}/request-changes`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as Proposal;
  }

  /** Save answers to conflicts, some or all. */
  async resolveProposal(given: { id: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; body: ResolutionsBody }, options: CallOptions = {}): Promise<Proposal> {
    return (await (await this.send("PUT", `/graphs/${inPath(given.graph)}/proposals/${inPath(given.id)}/resolutions`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as Proposal;
  }

  /** Merge a proposal; asked again it answers with the same commit, whatever the key. */
  async mergeProposal(given: { id: string; graph: string; omnigraphHandle?: string | null; idempotencyKey?: string | null; omnigraphIfGraphCommit?: string | null; body?: ProposalMergeBody | null }, options: CallOptions = {}): Promise<Merge> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/proposals/${inPath(given.id)}/merge`, {}, { "Content-Type": "application/json", "omnigraph-handle": given.omnigraphHandle, "idempotency-key": given.idempotencyKey, "omnigraph-if-graph-commit": given.omnigraphIfGraphCommit }, JSON.stringify(given.body), options)).json()) as Merge;
  }

  /** Close a proposal without merging it. */
  async closeProposal(given: { id: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; body?: ProposalTextBody | null }, options: CallOptions = {}): Promise<Proposal> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/proposals/${inPath(given.id)}/close`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as Proposal;
  }

  /** Open a closed proposal again. */
  async reopenProposal(given: { id: string; graph: string; idempotencyKey?: string | null; omnigraphHandle?: string | null; body?: ProposalTextBody | null }, options: CallOptions = {}): Promise<Proposal> {
    return (await (await this.send("POST", `/graphs/${inPath(given.graph)}/proposals/${inPath(given.id)}/reopen`, {}, { "Content-Type": "application/json", "idempotency-key": given.idempotencyKey, "omnigraph-handle": given.omnigraphHandle }, JSON.stringify(given.body), options)).json()) as Proposal;
  }
}

function inPath(name: string): string {
  return name.split("/").map(encodeURIComponent).join("/");
}

async function readError(answer: Response): Promise<OmniGraphError> {
  const told = await answer.json().catch(() => ({}));
  return new OmniGraphError(
    told.error ?? `the server answered with status ${answer.status}`,
    answer.status,
    String(told.code ?? "unavailable"),
    told.retryable ?? false,
    told.details ?? {},
  );
}
