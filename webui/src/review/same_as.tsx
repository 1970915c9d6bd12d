/** Saying what finds duplicates: nodes of a type that have the same values of some properties. */

import { useState } from "react";
import type { Property } from "../api/shapes";
import { addRule, writeRules, type SameRule } from "../lib/same_as";
import { useSchema } from "../parts/use_schema";

interface Given {
  rules: SameRule[];
  change: (rules: SameRule[]) => void;
}

export function SameAs({ rules, change }: Given) {
  const schema = useSchema();
  const [type, setType] = useState("");
  const [on, setOn] = useState<string[]>([]);
  const types = (schema.value?.catalog.nodes ?? []).filter((node) => node.properties.some(isCompared));
  const properties = types.find((node) => node.name === type)?.properties.filter(isCompared) ?? [];
  if (types.length === 0 && rules.length === 0) return null;
  return (
    <details className="difference" open={rules.length > 0 || undefined}>
      <summary>
        Duplicates
        {rules.map((rule) => (
          <span key={writeRules([rule])} className="chip accent">
            {rule.type}: {rule.on.join(", ")}
          </span>
        ))}
      </summary>
      <div className="stack tight inset">
        <p className="quiet">Two nodes of a type that have the same values of these properties are told as a conflict: are they one thing, or two?</p>
        {rules.map((rule) => (
          <p key={writeRules([rule])} className="actions">
            <span>
              {rule.type}: <code>{rule.on.join(", ")}</code>
            </span>
            <button className="link" aria-label={`Ask no more about ${rule.type} by ${rule.on.join(", ")}`} onClick={() => change(rules.filter((other) => other !== rule))}>
              Take away
            </button>
          </p>
        ))}
        <form
          className="actions"
          aria-label="A rule that finds duplicates"
          onSubmit={(event) => {
            event.preventDefault();
            change(addRule(rules, { type, on }));
            setType("");
            setOn([]);
          }}
        >
          <select
            aria-label="Type of what may be duplicates"
            value={type}
            onChange={(event) => {
              setType(event.target.value);
              setOn([]);
            }}
          >
            <option value="">a type …</option>
            {types.map((node) => (
              <option key={node.name}>{node.name}</option>
            ))}
          </select>
          {properties.map((property) => (
            <label key={property.name}>
              <input type="checkbox" checked={on.includes(property.name)} onChange={() => setOn((old) => (old.includes(property.name) ? old.filter((name) => name !== property.name) : [...old, property.name]))} />
              {property.name}
            </label>
          ))}
          <button type="submit" disabled={on.length === 0}>
            Ask
          </button>
        </form>
      </div>
    </details>
  );
}

/** Whether values of a property can say that two nodes are one. */
function isCompared(property: Property): boolean {
  return !property.type.is_list && property.type.vector === undefined && property.type.scalar !== "Blob";
}
