/** What the server's answers hold; the generated client returns them as plain JSON. */

export type Value = null | boolean | number | string | Value[] | { [name: string]: Value };
export type Properties = Record<string, Value>;
export type Kind = "node" | "edge";
export type Op = "insert" | "update" | "delete";

export interface Commit {
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
  metadata: Record<string, string>;
}

export interface PropertyType {
  scalar: string;
  nullable?: boolean;
  is_list?: boolean;
  vector?: number;
  enum?: string[];
  values?: string[];
}

export interface Property {
  id: number;
  name: string;
  type: PropertyType;
  description?: string;
}

export interface NodeType {
  id: number;
  name: string;
  properties: Property[];
  key?: string[];
  indexes?: string[][];
  uniques?: string[][];
  ranges?: { property: string; low: number | null; high: number | null }[];
  implements?: string[];
  description?: string;
}

export interface EdgeType extends NodeType {
  source: string;
  target: string;
  cardinality?: [number, number | null];
}

export interface Catalog {
  nodes: NodeType[];
  edges: EdgeType[];
  interfaces?: { id: number; name: string; properties: Property[] }[];
}

export interface Schema {
  branch: string;
  schema_source: string;
  catalog: Catalog;
}

export interface Snapshot {
  branch: string;
  commit: string;
  version: number;
  record: Commit;
  datasets: { key: string; rows: number; version: number }[];
}

export interface Tag {
  name: string;
  commit: string;
  branch: string;
  version: number;
  actor: string | null;
  created_at: string;
}

export interface BranchInfo {
  name: string;
  head: string;
  version: number;
  created_by: string | null;
  created_at: string;
  fork: string | null;
  compared_with: string;
  ahead: number;
  behind: number;
  last_writer: string | null;
  last_write_at: string | null;
  last_message: string | null;
}

export interface Image {
  properties: Properties;
  endpoints?: { from: string; to: string };
}

export interface Change {
  kind: Kind;
  type: { id: string; name: string };
  id: string;
  op: Op;
  before?: Image;
  after?: Image;
}

export interface ChangePage {
  from: string;
  to: string;
  changes: Change[];
  next_page_token: string | null;
}

export type OpCounts = Record<Op, number>;

export interface DiffSummary {
  from: string;
  to: string;
  schema: Record<string, Value> | null;
  counts: Record<string, OpCounts> | null;
}

export interface Conflict {
  kind: string;
  entity_kind: Kind | "schema";
  type_name: string;
  /** Null where it belongs to no entity. */
  entity_id: string | null;
  message: string;
  base: Image | null;
  ours: Image | null;
  theirs: Image | null;
  properties: string[];
  entities: (string | { kind?: Kind; type?: string; id: string })[];
}

export interface MergeResult {
  outcome: "already_up_to_date" | "fast_forward" | "merged";
  commit_id: string | null;
  source: string;
  target: string;
  base: string;
  counts: Record<string, { inserted: number; updated: number; deleted: number }>;
  conflicts: Conflict[];
  branch_deleted: boolean;
}

export interface QueryResult {
  row_count: number;
  columns: { name: string; type: string }[];
  rows: Record<string, Value>[];
  graph_commit_id: string;
  engine: string;
}

export interface PlanStep {
  text: string;
  estimated_rows: number | null;
  rows: number | null;
  milliseconds: number | null;
  children: PlanStep[];
  path: string | null;
  why: string;
  requests: number;
  bytes: number;
}

export interface Explanation {
  text: string;
  explanation: { query: string; tree: PlanStep[]; rows: number | null; milliseconds: number | null; choice: { engine: string; reason: string } | null };
}

export interface Diagnostic {
  code: string;
  message: string;
  line: number;
  column: number;
  width: number;
  hint: string | null;
}

export interface Entity {
  kind: Kind;
  type: string;
  id: string;
  commit: string;
  properties: Properties;
  ends: { from: string; to: string } | [string, string] | null;
}

export interface EdgeRecord {
  edge: string;
  from: string;
  to: string;
  data: Properties;
}

export interface EntityChange {
  commit: Commit;
  op: Op;
  changed: string[];
  came_by_merge: boolean;
  before: Image | null;
  after: Image | null;
}

export interface Job {
  id: string;
  kind: string;
  state: "queued" | "running" | "succeeded" | "failed" | "cancelled";
  actor: string | null;
  asked: Record<string, Value>;
  /** Microseconds. */
  created: number;
  started: number | null;
  ended: number | null;
  attempts: number;
  cancel_requested: boolean;
  result: Value;
  error: { error: string; code: string } | null;
}

export interface Cleanup {
  tables: { table_key: string; removed: Size; kept: Size; waiting: Size }[];
  commits_dropped: number;
  commits_kept: number;
}

interface Size {
  files: number;
  bytes: number;
}

export interface Repair {
  ok: boolean;
  findings: Record<string, Value>[];
  branches: number;
  commits: number;
  tables: number;
  files: number;
  rows: number;
}

export interface Check {
  name: string;
  ok: boolean;
  rows: Record<string, Value>[] | null;
  columns?: (string | { name: string })[] | null;
  row_count?: number;
  error?: string | null;
}

export interface Comment {
  id: string;
  actor: string | null;
  at: string;
  text: string;
  entity?: { type: string; id: string; property?: string | null } | null;
  commit?: string | null;
}

export interface Approval {
  actor: string;
  commit: string;
  at: string;
  is_current: boolean;
  text?: string;
}

export interface Proposal {
  id: string;
  source: string;
  into: string;
  title: string;
  description: string | null;
  author: string | null;
  state: "open" | "merged" | "closed";
  created_at: string;
  updated_at: string;
  source_commit: string | null;
  base_commit?: string | null;
  target_commit: string | null;
  reviewers: string[];
  comments: Comment[];
  approvals: Approval[];
  changes_requested?: Approval[];
  strategy?: string;
  checks?: Check[] | null;
  resolutions: Record<string, Value>[];
  merged_commit: string | null;
  events?: Record<string, Value>[];
}

export interface Mergeable {
  mergeable: boolean;
  reasons: { code: string; message: string }[];
  outcome: string | null;
  conflicts: Conflict[];
  checks: Check[];
  approvals_needed: number;
  counts: MergeResult["counts"] | null;
}
