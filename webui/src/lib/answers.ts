/** Answers to conflicts: what was chosen, what it means for the server, and what comes of it. */

import type { Conflict, Image, Kind, Properties, Value } from "../api/shapes";
import { canonical, compareTexts, isSame, keyOf } from "./differences";

export type Side = "base" | "ours" | "theirs";
export type Choice = { from: Side } | { value: Value };

/** Whether two nodes are one thing. */
export type Sameness = "same" | "different";

/** Of one conflict: a choice for each property, or one for the whole entity; of two nodes, whether they are one. */
export interface Answer {
  whole: Side | Sameness | null;
  properties: Record<string, Choice>;
  /** What becomes of other entities, where that settles it: an edge too many goes, a node that an edge needs stays. */
  others?: Other[];
}

export interface Other {
  kind: Kind;
  type: string;
  id: string;
  becomes: "gone" | "base";
}

export type Answers = Record<string, Answer>;

export interface Row {
  name: string;
  base: Value | undefined;
  ours: Value | undefined;
  theirs: Value | undefined;
  isInConflict: boolean;
}

const VALUE_KINDS = new Set(["UniqueViolation", "ValueConstraintViolation"]);
const keys = new WeakMap<Conflict, string>();

/** Names a conflict with what it shows: when a side says something else it is another one, and not answered. */
export function conflictKey(conflict: Conflict): string {
  const known = keys.get(conflict);
  if (known !== undefined) return known;
  const shown = [conflict.base, conflict.ours, conflict.theirs, conflict.properties, conflict.entities] as unknown as Value;
  const key = `${conflict.kind}|${keyOf(conflict.entity_kind, conflict.type_name, conflict.entity_id ?? "")}|${digest(canonical(shown))}`;
  keys.set(conflict, key);
  return key;
}

/** A short name for a long text; FNV-1a. */
function digest(text: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return `${(sum >>> 0).toString(36)}.${text.length}`;
}

/** Whether the conflict asks if two nodes are one thing. */
export function isAboutTwo(conflict: Conflict): boolean {
  return conflict.kind === "PossibleDuplicate";
}

function isSide(given: Value | undefined): given is Side {
  return given === "base" || given === "ours" || given === "theirs";
}

function isSameness(given: Value | undefined): given is Sameness {
  return given === "same" || given === "different";
}

/** Whether the conflict is about values that both sides changed, so that properties can be chosen one by one. */
export function isByProperty(conflict: Conflict): boolean {
  return !isAboutTwo(conflict) && conflict.entity_kind !== "schema" && conflict.ours !== null && conflict.theirs !== null && conflict.properties.length > 0;
}

/** Whether values that both keep a rule may be written where one side does not have the entity. */
export function isByValue(conflict: Conflict): boolean {
  return VALUE_KINDS.has(conflict.kind) && (conflict.ours !== null || conflict.theirs !== null) && conflict.properties.length > 0;
}

/** Whether the conflict belongs to no entity, and is settled by what becomes of those that it names. */
export function isAboutOthers(conflict: Conflict): boolean {
  return conflict.kind === "CardinalityViolation";
}

/** Properties of the three images, those in conflict first; what is null everywhere says nothing. */
export function rowsOf(conflict: Conflict): Row[] {
  const images = [conflict.base, conflict.ours, conflict.theirs];
  const names = new Set(images.flatMap((image) => Object.keys(image?.properties ?? {})));
  const rows = [...names].map((name) => ({
    name,
    base: conflict.base?.properties[name],
    ours: conflict.ours?.properties[name],
    theirs: conflict.theirs?.properties[name],
    isInConflict: conflict.properties.includes(name),
  }));
  return rows
    .filter((row) => row.isInConflict || [row.base, row.ours, row.theirs].some((value) => (value ?? null) !== null))
    .sort((a, b) => Number(b.isInConflict) - Number(a.isInConflict) || compareTexts(a.name, b.name));
}

export function isAnswered(conflict: Conflict, answer: Answer | undefined): boolean {
  if (!answer) return false;
  if (answer.whole || (answer.others ?? []).length > 0) return true;
  return (isByProperty(conflict) || isByValue(conflict)) && conflict.properties.every((name) => answer.properties[name] !== undefined);
}

export function chosenValue(row: Row, choice: Choice | undefined): Value | undefined {
  if (!choice) return undefined;
  return "from" in choice ? row[choice.from] : choice.value;
}

/** The entity as it will be, as far as it has been decided; null where it will not be there. */
export function previewAnswer(conflict: Conflict, answer: Answer | undefined): Image | null | undefined {
  if (!answer) return undefined;
  if (answer.whole === "different") return conflict.theirs;
  if (isSide(answer.whole ?? undefined)) return conflict[answer.whole as Side];
  const start = conflict.ours ?? conflict.theirs;
  if (!start) return undefined;
  const properties: Properties = { ...start.properties };
  for (const row of rowsOf(conflict)) properties[row.name] = resultOf(conflict, row, answer) ?? null;
  return { ...start, properties };
}

/** What a property will be: what was chosen, or what the merge combines where only one side changed it. */
export function resultOf(conflict: Conflict, row: Row, answer: Answer | undefined): Value | undefined {
  if (answer?.whole === "same") return row.ours ?? row.theirs;
  if (answer?.whole === "different") return row.theirs;
  if (answer?.whole) return conflict[answer.whole]?.properties[row.name];
  const choice = answer?.properties[row.name];
  if (choice) return chosenValue(row, choice);
  if (row.isInConflict) return undefined;
  return conflict.base !== null && conflict.theirs !== null && isSame(row.ours, row.base) ? row.theirs : row.ours;
}

export type Resolution = Record<string, Value>;

/** What the server is told: one answer for each conflict that is decided, with the images that it was decided on. */
export function writeResolutions(conflicts: Conflict[], answers: Answers): Resolution[] {
  const told: Resolution[] = [];
  for (const conflict of conflicts) {
    const answer = answers[conflictKey(conflict)];
    if (!answer || !isAnswered(conflict, answer)) continue;
    const named = {
      kind: conflict.kind,
      entity_kind: conflict.entity_kind,
      type_name: conflict.type_name,
      entity_id: conflict.entity_id,
      base: conflict.base as unknown as Value,
      ours: conflict.ours as unknown as Value,
      theirs: conflict.theirs as unknown as Value,
      ...(isAboutTwo(conflict) ? { entities: conflict.entities as unknown as Value } : {}),
    };
    for (const other of answer.others ?? []) told.push({ entity_kind: other.kind, type_name: other.type, entity_id: other.id, ...(other.becomes === "gone" ? { take: "custom", image: null } : { take: "base" }) });
    if (answer.others) continue;
    const side = answer.whole ?? oneSide(conflict, answer);
    if (side) told.push({ ...named, take: side });
    else {
      const properties: Properties = {};
      for (const row of rowsOf(conflict)) {
        const choice = answer.properties[row.name];
        if (choice) properties[row.name] = chosenValue(row, choice) ?? null;
      }
      told.push({ ...named, take: "custom", image: { properties } });
    }
  }
  return told;
}

function oneSide(conflict: Conflict, answer: Answer): Side | null {
  for (const side of ["ours", "theirs", "base"] as const) {
    if (conflict[side] !== null && conflict.properties.every((name) => isFrom(answer.properties[name], side))) return side;
  }
  return null;
}

function isFrom(choice: Choice | undefined, side: Side): boolean {
  return choice !== undefined && "from" in choice && choice.from === side;
}

/** Take answers up again that the server has kept; those to conflicts that are not there any more say nothing. */
export function readResolutions(conflicts: Conflict[], kept: Resolution[]): Answers {
  const answers: Answers = {};
  for (const conflict of conflicts) {
    const others = readOthers(conflict, kept);
    if (others.length > 0) {
      answers[conflictKey(conflict)] = { whole: null, properties: {}, others };
      continue;
    }
    const found = kept.find(
      (item) =>
        fits(item.kind, conflict.kind) &&
        fits(item.entity_kind, conflict.entity_kind) &&
        fits(item.type_name, conflict.type_name) &&
        (item.entity_id === undefined || item.entity_id === null || item.entity_id === conflict.entity_id) &&
        (["base", "ours", "theirs"] as const).every((side) => item[side] === undefined || isSame(item[side], conflict[side] as unknown as Value)),
    );
    if (!found) continue;
    const take = found.take;
    if (isSameness(take)) answers[conflictKey(conflict)] = { whole: take, properties: {} };
    else if (isSide(take)) {
      answers[conflictKey(conflict)] = isByProperty(conflict)
        ? { whole: null, properties: Object.fromEntries(conflict.properties.map((name) => [name, { from: take }])) }
        : { whole: take, properties: {} };
    } else {
      const image = found.image as { properties?: Properties } | null | undefined;
      const properties = Object.entries(image?.properties ?? {}).map(([name, value]) => [name, nameChoice(conflict, name, value)] as const);
      answers[conflictKey(conflict)] = { whole: null, properties: Object.fromEntries(properties) };
    }
  }
  return answers;
}

function readOthers(conflict: Conflict, kept: Resolution[]): Other[] {
  if (!isAboutOthers(conflict)) return [];
  const named = conflict.entities.map((item) => (typeof item === "string" ? item : item.id));
  return kept
    .filter((item) => item.kind === undefined && item.entity_kind === "edge" && item.type_name === conflict.type_name && item.image === null && named.includes(String(item.entity_id)))
    .map((item) => ({ kind: "edge", type: conflict.type_name, id: String(item.entity_id), becomes: "gone" }));
}

function nameChoice(conflict: Conflict, name: string, value: Value): Choice {
  for (const side of ["ours", "theirs", "base"] as const) {
    if (conflict[side] && isSame(conflict[side].properties[name], value)) return { from: side };
  }
  return { value };
}

function fits(given: Value | undefined, actual: string): boolean {
  return given === undefined || given === null || given === "*" || given === actual;
}

export interface Rule {
  type: string;
  property: string;
  side: Side;
}

/** Answer every conflict that a rule is about; what was chosen one by one before is changed too. */
export function applyRule(conflicts: Conflict[], answers: Answers, rule: Rule): { answers: Answers; count: number } {
  const changed: Answers = { ...answers };
  let count = 0;
  for (const conflict of conflicts) {
    if (rule.type !== "*" && conflict.type_name !== rule.type) continue;
    if (conflict.entity_kind === "schema" || isAboutTwo(conflict) || isAboutOthers(conflict)) continue;
    const key = conflictKey(conflict);
    const known = changed[key] ?? { whole: null, properties: {} };
    if (isByProperty(conflict)) {
      const names = conflict.properties.filter((name) => rule.property === "*" || name === rule.property);
      if (names.length === 0) continue;
      const chosen = Object.fromEntries(names.map((name) => [name, { from: rule.side }]));
      changed[key] = { whole: null, properties: { ...known.properties, ...chosen } };
    } else if (rule.property === "*") changed[key] = { whole: rule.side, properties: {} };
    else continue;
    count += 1;
  }
  return { answers: changed, count };
}
