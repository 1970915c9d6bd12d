/** Asking others to look at a branch before it is merged. */

import { useState, type ReactNode } from "react";
import { useAsk, useDoing } from "../api/ask";
import { makeKey } from "../api/session";
import type { Proposal } from "../api/shapes";
import { cutText } from "../lib/formats";
import { writePlace } from "../lib/place";
import { useGraph } from "../parts/graph_context";
import { useNavigation } from "../parts/navigation";
import { Failure } from "../parts/states";

const EMPTY = { source: "", into: "main", title: "", description: "", reviewers: "", checks: [] as string[], strategy: "property" as "property" | "entity" };

export function NewProposal() {
  const view = useGraph();
  const { go } = useNavigation();
  const [isOpen, setOpen] = useState(false);
  const [given, setGiven] = useState(EMPTY);
  const stored = useAsk(isOpen ? `checks ${view.graph} ${given.into}` : null, async (signal) => {
    const told = await view.session.client.listQueries({ graph: view.graph, branch: given.into }, { signal });
    return (told.queries as { name: string; kind?: string }[]).map((query) => query.name);
  });
  const doing = useDoing();
  const set = (change: Partial<typeof EMPTY>) => setGiven({ ...given, ...change });
  if (view.isReadOnly || view.branches.length < 2) return null;
  const propose = () =>
    doing.run(async () => {
      const reviewers = given.reviewers.split(/[,\s]+/).filter((name) => name !== "");
      const made = (await view.session.client.createProposal({ graph: view.graph, idempotencyKey: makeKey(), body: { ...given, reviewers } })) as unknown as Proposal;
      go(writePlace({ graph: view.graph, page: "proposal", params: { id: made.id } }));
    });
  return (
    <details className="difference" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>New proposal</summary>
      <form
        className="stack inset"
        onSubmit={(event) => {
          event.preventDefault();
          propose();
        }}
      >
        <div className="picker">
          <Field label="Branch">
            <Branches value={given.source} change={(source) => set({ source })} />
          </Field>
          <Field label="into">
            <Branches value={given.into} change={(into) => set({ into, checks: [] })} />
          </Field>
          <Field label="Title" grows>
            <input value={given.title} placeholder="as its newest commit says" onChange={(event) => set({ title: event.target.value })} />
          </Field>
          <Field label="In conflict is">
            <select value={given.strategy} onChange={(event) => set({ strategy: event.target.value as typeof EMPTY.strategy })}>
              <option value="property">a property that both changed</option>
              <option value="entity">an entity that both changed</option>
            </select>
          </Field>
        </div>
        <Field label="Why">
          <textarea value={given.description} onChange={(event) => set({ description: event.target.value })} />
        </Field>
        <Field label="Who should look at it (names of actors)">
          <input value={given.reviewers} placeholder="act-ada, act-bob" onChange={(event) => set({ reviewers: event.target.value })} />
        </Field>
        {stored.value && stored.value.length > 0 && (
          <fieldset className="actions">
            <legend className="quiet small">Stored queries that must return no rows</legend>
            {stored.value.map((name) => (
              <label key={name}>
                <input type="checkbox" checked={given.checks.includes(name)} onChange={() => set({ checks: given.checks.includes(name) ? given.checks.filter((other) => other !== name) : [...given.checks, name] })} />
                {name}
              </label>
            ))}
          </fieldset>
        )}
        <div className="actions">
          <button className="primary" type="submit" disabled={given.source === "" || given.source === given.into || doing.isBusy}>
            Propose
          </button>
        </div>
        {doing.error !== undefined && <Failure error={doing.error} />}
      </form>
    </details>
  );
}

function Field({ label, grows = false, children }: { label: string; grows?: boolean; children: ReactNode }) {
  return (
    <label className={grows ? "field grow" : "field"}>
      <span className="quiet small">{label}</span>
      {children}
    </label>
  );
}

function Branches({ value, change }: { value: string; change: (name: string) => void }) {
  const view = useGraph();
  return (
    <select value={value} onChange={(event) => change(event.target.value)}>
      {value === "" && <option value="">choose</option>}
      {view.branches.map((name) => (
        <option key={name} value={name}>
          {cutText(name, 60)}
        </option>
      ))}
    </select>
  );
}
