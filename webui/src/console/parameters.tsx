/** The parameters of a query as a form. */

import type { Value } from "../api/shapes";
import { readField, type Parameter } from "../lib/query_text";

/** What the fields mean to the server; raises a sentence where one means nothing. */
export function readFields(parameters: Parameter[], fields: Record<string, string>): Record<string, Value> {
  const params: Record<string, Value> = {};
  for (const parameter of parameters) {
    const value = readField(parameter, fields[parameter.name] ?? "");
    if (value !== undefined && value !== null) params[parameter.name] = value;
  }
  return params;
}

export function ParameterField({ parameter, text, change }: { parameter: Parameter; text: string; change: (text: string) => void }) {
  const label = `$${parameter.name}`;
  return (
    <label className="field">
      <span>
        {label} <code className="quiet">{parameter.type + (parameter.isOptional ? "?" : "")}</code>
      </span>
      {parameter.type === "Bool" ? (
        <select value={text} onChange={(event) => change(event.target.value)}>
          <option value="">{parameter.isOptional ? "null" : "choose"}</option>
          <option>true</option>
          <option>false</option>
        </select>
      ) : (
        <input
          value={text}
          type={parameter.type === "Date" ? "date" : "text"}
          inputMode={/^[IUF]\d/.test(parameter.type) ? "decimal" : undefined}
          placeholder={parameter.isOptional ? "null" : parameter.type.startsWith("[") || parameter.type.startsWith("Vector") ? "[ … ]" : ""}
          onChange={(event) => change(event.target.value)}
        />
      )}
    </label>
  );
}
