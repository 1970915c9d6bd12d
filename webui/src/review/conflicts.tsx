/** Settling conflicts: base, ours and theirs side by side, a choice for each property, rules for many. */

import { useEffect, useMemo, useState } from "react";
import type { Conflict, Value } from "../api/shapes";
import { applyRule, conflictKey, isAboutOthers, isAboutTwo, isAnswered, isByProperty, isByValue, previewAnswer, resultOf, rowsOf, type Answer, type Answers, type Row, type Side } from "../lib/answers";
import { isSame } from "../lib/differences";
import { cutText, isBlob, tellCount } from "../lib/formats";
import { Name, ShownValue } from "../parts/values";
import { InTheWay } from "./in_the_way";

const SIDES: Side[] = ["base", "ours", "theirs"];
const OPENED = 5;
const SHOWN = 100;
const GRAPH_KINDS = new Set(["OrphanEdge", "CardinalityViolation", "UniqueViolation"]);

interface Given {
  conflicts: Conflict[];
  answers: Answers;
  change: (answers: Answers) => void;
  names: { ours: string; theirs: string; base: string };
  commits: { ours: string; theirs: string };
}

export function Conflicts({ conflicts, answers, change, names, commits }: Given) {
  const settled = conflicts.filter((conflict) => isAnswered(conflict, answers[conflictKey(conflict)])).length;
  const [most, setMost] = useState(SHOWN);
  return (
    <section className="stack" aria-label="Conflicts">
      <div className="head">
        <h2>{tellCount(conflicts.length, "conflict")}</h2>
        <span className="quiet" role="status">
          {settled} settled
        </span>
        <span className="space" />
        <progress max={conflicts.length} value={settled} aria-label="Settled conflicts" className="short" />
      </div>
      {conflicts.length > 1 && <RuleForm conflicts={conflicts} answers={answers} change={change} names={names} />}
      {conflicts.slice(0, most).map((conflict, at) => (
        <ConflictView
          key={conflictKey(conflict)}
          conflict={conflict}
          answer={answers[conflictKey(conflict)]}
          isOpen={at < OPENED}
          names={names}
          commits={commits}
          change={(answer) => change({ ...answers, [conflictKey(conflict)]: answer })}
        />
      ))}
      {conflicts.length > most && <button onClick={() => setMost(most + SHOWN)}>{tellCount(conflicts.length - most, "more")}</button>}
    </section>
  );
}

function RuleForm({ conflicts, answers, change, names }: Pick<Given, "conflicts" | "answers" | "change" | "names">) {
  const types = [...new Set(conflicts.map((conflict) => conflict.type_name))].sort();
  const [type, setType] = useState("*");
  const [property, setProperty] = useState("*");
  const [side, setSide] = useState<Side>("ours");
  const [told, setTold] = useState("");
  const properties = [...new Set(conflicts.filter((conflict) => type === "*" || conflict.type_name === type).flatMap((conflict) => conflict.properties))].sort();
  return (
    <form
      className="panel actions"
      aria-label="A rule for many conflicts"
      onSubmit={(event) => {
        event.preventDefault();
        const done = applyRule(conflicts, answers, { type, property, side });
        change(done.answers);
        setTold(`${tellCount(done.count, "conflict")} answered.`);
      }}
    >
      <span>For all of</span>
      <select aria-label="Type" value={type} onChange={(event) => setType(event.target.value)}>
        <option value="*">every type</option>
        {types.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select aria-label="Property" value={property} onChange={(event) => setProperty(event.target.value)}>
        <option value="*">every property</option>
        {properties.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <span>take</span>
      <select aria-label="Side" value={side} onChange={(event) => setSide(event.target.value as Side)}>
        {SIDES.map((name) => (
          <option key={name} value={name}>
            {name === "base" ? "what was before" : `${name} (${cutText(names[name], 24)})`}
          </option>
        ))}
      </select>
      <button type="submit">Apply</button>
      <span className="quiet" role="status">
        {told}
      </span>
    </form>
  );
}

interface OneGiven {
  conflict: Conflict;
  answer: Answer | undefined;
  isOpen: boolean;
  names: Given["names"];
  commits: Given["commits"];
  change: (answer: Answer) => void;
}

function ConflictView({ conflict, answer, isOpen, names, commits, change }: OneGiven) {
  const isDone = isAnswered(conflict, answer);
  const byProperty = isByProperty(conflict);
  const rows = useMemo(() => rowsOf(conflict), [conflict]);
  const [isUnfolded, setUnfolded] = useState(isOpen);
  const [isPreviewed, setPreviewed] = useState(false);
  const [isWhole, setWhole] = useState(false);
  const different = useMemo(() => rows.filter((row) => row.isInConflict || conflict.ours === null || conflict.theirs === null || !isSame(row.ours, row.theirs) || !isSame(row.ours, row.base)), [rows, conflict]);
  const shown = isWhole ? rows : different;
  const known = answer ?? { whole: null, properties: {} };
  const take = (side: Side) =>
    change(byProperty ? { whole: null, properties: { ...known.properties, ...Object.fromEntries(conflict.properties.map((name) => [name, { from: side }])) } } : { whole: side, properties: {} });
  return (
    <details className="difference conflict" open={isOpen} onToggle={(event) => setUnfolded(event.currentTarget.open)}>
      <summary>
        <span className={`chip ${isDone ? "good" : "bad"}`}>{isDone ? "settled" : "open"}</span>
        <span className="quiet">{conflict.type_name}</span>
        <span className="id">
          {conflict.entity_id !== null && <Name text={conflict.entity_id} />}
        </span>
        <span className="space" />
        <span className="quiet small">{conflict.kind}</span>
      </summary>
      <p className="nothing">
        <bdi>{cutText(conflict.message, 600)}</bdi>
      </p>
      {isUnfolded && GRAPH_KINDS.has(conflict.kind) && <InTheWay conflict={conflict} commits={commits} answer={answer} change={change} />}
      <div className="actions nothing">
        {isAboutTwo(conflict)
          ? (["same", "different"] as const).map((whole) => (
              <button key={whole} aria-pressed={known.whole === whole} onClick={() => change({ whole, properties: {} })}>
                They are {whole === "same" ? "one thing" : "two things"}
              </button>
            ))
          : isAboutOthers(conflict)
            ? null
            : SIDES.map((side) => (
                <button key={side} aria-pressed={known.whole === side} onClick={() => take(side)}>
                  Take {side === "base" ? "what was before" : side}
                  {conflict.entity_kind !== "schema" && conflict[side] === null && <span className="quiet"> (not there)</span>}
                </button>
              ))}
        {!isAboutOthers(conflict) && (
          <button className="link" aria-expanded={isPreviewed} onClick={() => setPreviewed(!isPreviewed)}>
            Preview the result
          </button>
        )}
        {rows.length > different.length && (
          <button className="link" aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? "Only what differs" : `${tellCount(rows.length - different.length, "property that is", "properties that are")} the same`}
          </button>
        )}
      </div>
      {shown.length > 0 && (
        <div className="sides three" role="group" aria-label={`Values of ${conflict.type_name}`}>
          <div className="caption" />
          <div className="caption">base</div>
          <div className="caption clip">ours · {names.ours}</div>
          <div className="caption clip">theirs · {names.theirs}</div>
          <div className="caption">result</div>
          {shown.map((row) => (
            <ConflictRow key={row.name} row={row} conflict={conflict} answer={known} change={change} byProperty={byProperty} />
          ))}
        </div>
      )}
      {isPreviewed && (
        <pre className="source inset" tabIndex={0} aria-label="Preview">
          <bdi>{tellPreview(conflict, answer)}</bdi>
        </pre>
      )}
    </details>
  );
}

function tellPreview(conflict: Conflict, answer: Answer | undefined): string {
  const image = previewAnswer(conflict, answer);
  if (image === undefined) return "Nothing is chosen yet.";
  return image === null ? "It will not be there." : JSON.stringify(image.properties, null, 2).slice(0, 100_000);
}

function ConflictRow({ row, conflict, answer, change, byProperty }: { row: Row; conflict: Conflict; answer: Answer; change: (answer: Answer) => void; byProperty: boolean }) {
  const choice = answer.properties[row.name];
  const canChoose = byProperty && row.isInConflict;
  const set = (value: { from: Side } | { value: Value }) => change({ whole: null, properties: { ...answer.properties, [row.name]: value } });
  const group = `${conflictKey(conflict)} ${row.name}`;
  const result = resultOf(conflict, row, answer);
  return (
    <>
      <div className="property">
        {row.name}
        {row.isInConflict && <span className="hidden"> (in conflict)</span>}
      </div>
      {SIDES.map((side) => {
        const isChosen = choice !== undefined && "from" in choice && choice.from === side;
        const value = <ShownValue value={row[side]} most={160} />;
        return (
          <div key={side} data-side={side} className={isChosen || answer.whole === side ? "chosen-side" : undefined}>
            {canChoose ? (
              <label className="choice">
                <input type="radio" name={group} checked={isChosen} onChange={() => set({ from: side })} aria-label={`${row.name}: ${side}`} />
                {value}
              </label>
            ) : (
              value
            )}
          </div>
        );
      })}
      <div data-side="result">{canChoose || (row.isInConflict && isByValue(conflict)) ? <Edited row={row} value={result} isOwn={choice !== undefined && "value" in choice} set={(value) => set({ value })} /> : <ShownValue value={result} most={160} />}</div>
    </>
  );
}

/** The value that will be there; it can be written by hand. */
function Edited({ row, value, isOwn, set }: { row: Row; value: Value | undefined; isOwn: boolean; set: (value: Value) => void }) {
  const [text, setText] = useState<string | null>(null);
  const [error, setError] = useState("");
  const sample = row.ours ?? row.theirs ?? row.base;
  useEffect(() => setText(null), [value]);
  if (isBlob(sample)) return <ShownValue value={value} />;
  const isText = typeof sample === "string" || sample === null || sample === undefined;
  const shown = text ?? (value === undefined ? "" : value === null ? "" : isText && typeof value === "string" ? value : JSON.stringify(value));
  const keep = () => {
    if (text === null) return;
    try {
      set(text === "" ? null : isText ? text : (JSON.parse(text) as Value));
      setError("");
    } catch {
      setError("This is not a value of the property.");
    }
  };
  return (
    <>
      <input className="whole-width" aria-label={`Value of ${row.name}`} placeholder={value === null ? "null" : "choose or write"} value={shown.slice(0, 100_000)} onChange={(event) => setText(event.target.value)} onBlur={keep} onKeyDown={(event) => event.key === "Enter" && keep()} />
      {isOwn && <span className="quiet small">written by hand</span>}
      {error && <span className="error small">{error}</span>}
    </>
  );
}
