/** What became of an entity: its properties before and after, each in the way that its values ask for. */

import type { ReactNode } from "react";
import type { Op } from "../api/shapes";
import type { EntityDifference, PropertyChange, TypeDifference } from "../lib/differences";
import { isBlob, isVector, measureDistance, sizeOfBlob, tellBytes, tellNumber } from "../lib/formats";
import { compareWords } from "../lib/words";
import { Name, ShownBlob, ShownValue } from "../parts/values";

const SIGN: Record<Op, string> = { insert: "+", update: "~", delete: "−" };
const SAID: Record<Op, string> = { insert: "added", update: "changed", delete: "removed" };

export function Counts({ counts }: { counts: Record<Op, number> }) {
  return (
    <span className="counts">
      {(["insert", "update", "delete"] as const).map((op) =>
        counts[op] > 0 ? (
          <span key={op} className={`count ${op}`} title={`${tellNumber(counts[op])} ${SAID[op]}`}>
            <span aria-hidden="true">{SIGN[op]}</span>
            <span className="hidden">{SAID[op]} </span>
            {tellNumber(counts[op])}
          </span>
        ) : null,
      )}
    </span>
  );
}

export function Summary({ groups, choose, chosen }: { groups: TypeDifference[]; choose?: (table: string | null) => void; chosen?: string | null }) {
  return (
    <ul className="list panel">
      {groups.map((group) => (
        <li key={group.table}>
          <button className="row" aria-pressed={chosen === group.table} onClick={() => choose?.(chosen === group.table ? null : group.table)}>
            <span>
              <span className="quiet">{group.kind}</span> {group.type}
            </span>
            <Counts counts={group.counts} />
          </button>
        </li>
      ))}
    </ul>
  );
}

export function EntityChangeView({ entity, isOpen, children, aside }: { entity: EntityDifference; isOpen: boolean; children?: ReactNode; aside?: ReactNode }) {
  return (
    <details className="difference" open={isOpen} id={`change-${entity.key}`}>
      <summary>
        <span className={`op ${entity.op}`} aria-hidden="true">
          {SIGN[entity.op]}
        </span>
        <span className="hidden">{SAID[entity.op]}</span>
        <span className="quiet">{entity.type}</span>
        <span className="id">
          {entity.ends ? (
            <>
              <Name text={entity.ends.from} most={40} /> → <Name text={entity.ends.to} most={40} />
            </>
          ) : (
            <Name text={entity.id} />
          )}
        </span>
        <span className="space" />
        <span className="quiet small">
          {entity.op === "update"
            ? entity.properties
                .filter((row) => row.isChanged)
                .map((row) => row.name)
                .slice(0, 5)
                .join(", ")
            : ""}
        </span>
        {aside}
      </summary>
      <Properties rows={entity.op === "update" ? entity.properties.filter((row) => row.isChanged) : entity.properties} op={entity.op} />
      {children}
    </details>
  );
}

export function Properties({ rows, op }: { rows: PropertyChange[]; op: Op }) {
  if (rows.length === 0) return <p className="quiet nothing">No properties.</p>;
  return (
    <div className="sides">
      {rows.map((row) => (
        <PropertyRow key={row.name} row={row} op={op} />
      ))}
    </div>
  );
}

function PropertyRow({ row, op }: { row: PropertyChange; op: Op }) {
  if (op === "insert") {
    return (
      <>
        <div className="property">{row.name}</div>
        <div className="wide is">
          <ShownValue value={row.after} />
        </div>
      </>
    );
  }
  if (op === "delete") {
    return (
      <>
        <div className="property">{row.name}</div>
        <div className="wide was">
          <ShownValue value={row.before} />
        </div>
      </>
    );
  }
  if (row.way === "words" && typeof row.before === "string" && typeof row.after === "string") {
    return (
      <>
        <div className="property">{row.name}</div>
        <div className="wide">
          <Words before={row.before} after={row.after} />
        </div>
      </>
    );
  }
  return (
    <>
      <div className="property">
        {row.name}
        <Measure row={row} />
      </div>
      <div className="was" data-side="before">
        {isBlob(row.before) ? <ShownBlob value={row.before} /> : <ShownValue value={row.before} />}
      </div>
      <div className="is" data-side="after">
        {isBlob(row.after) ? <ShownBlob value={row.after} /> : <ShownValue value={row.after} />}
      </div>
    </>
  );
}

function Measure({ row }: { row: PropertyChange }) {
  if (row.way === "vector" && isVector(row.before) && isVector(row.after)) {
    const distance = measureDistance(row.before, row.after);
    return distance === null ? null : <div className="small">moved by {distance.toPrecision(2)}</div>;
  }
  if (row.way === "blob" && isBlob(row.before) && isBlob(row.after)) {
    const grown = sizeOfBlob(row.after) - sizeOfBlob(row.before);
    return <div className="small">{grown === 0 ? "same size" : `${grown > 0 ? "+" : "−"}${tellBytes(Math.abs(grown))}`}</div>;
  }
  return null;
}

export function Words({ before, after }: { before: string; after: string }) {
  return (
    <div className="words" tabIndex={before.length + after.length > 2000 ? 0 : undefined}>
      <bdi>
        {compareWords(before, after).map((piece, at) =>
          piece.op === "same" ? <span key={at}>{shorten(piece.text)}</span> : piece.op === "gone" ? <del key={at}>{piece.text}</del> : <ins key={at}>{piece.text}</ins>,
        )}
      </bdi>
    </div>
  );
}

/** What stays is context: of much of it, the parts next to what changed. */
function shorten(text: string): string {
  return text.length > 600 ? `${text.slice(0, 250)}\n… ${tellNumber(text.length - 500)} characters that stay …\n${text.slice(-250)}` : text;
}
