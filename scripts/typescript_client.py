"""Write the TypeScript client, `clients/typescript/omnigraph.ts`, from the description of the routes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from omnigraph.server.app import ServerConfig, create_app

TARGET = Path(__file__).parents[1] / "clients" / "typescript" / "omnigraph.ts"
_JSON = "application/json"
_HEAD = """\
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
"""
_CLASS = """\
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
    const address = this.address.replace(/\\/+$/, "") + path + (text ? `?${text}` : "");
    const answer = await this.fetcher(address, { method, headers: sent, body, signal: options.signal });
    if (!answer.ok) throw await readError(answer);
    return answer;
  }
"""
_TAIL = """\
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
"""


def write_client() -> str:
    """Return the text of the client."""
    told = create_app(ServerConfig({"graph": "nowhere"})).openapi()
    models = told["components"]["schemas"].items()
    parts = [_HEAD, *(_interface(name, item) for name, item in sorted(models) if not _is_of_lance(name))]
    calls = [
        _method(path, method, operation)
        for path, operations in told["paths"].items()
        for method, operation in operations.items()
        if not path.startswith("/lance/")
    ]
    return "\n".join(parts) + "\n" + _CLASS + "\n" + "\n".join(calls) + "}\n\n" + _TAIL


def _is_of_lance(name: str) -> bool:
    """Return whether a schema is for clients of Lance, or of errors, which are a class here."""
    return name.startswith("Lance") or name in ("Error", "Nothing")


def _interface(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    # A type may stand for a JsonObject, which an interface may not.
    lines = [f"/** {_one_line(schema.get('description', name))} */", f"export type {name} = {{"]
    for member, item in schema["properties"].items():
        if text := item.get("description"):
            lines.append(f"  /** {_one_line(text)} */")
        lines.append(f"  {_key(member)}{'' if member in required else '?'}: {_type(item)};")
    return "\n".join([*lines, "};\n"])


def _method(path: str, method: str, operation: dict[str, Any]) -> str:
    name = _camel(operation["operationId"])
    params = operation.get("parameters", [])
    body = operation.get("requestBody")
    is_json = body is not None and _JSON in body["content"]
    fields = [
        f"{_key(_camel(item['name']))}{'' if item['required'] else '?'}: {_type(item['schema'])}"
        for item in params
    ]
    if body is not None:
        kind = _type(body["content"][_JSON]["schema"]) if is_json else "BodyInit"
        fields.append(f"body{'' if body.get('required') else '?'}: {kind}")
    given = f"given: {{ {'; '.join(fields)} }}" if fields else "given: Record<string, never>"
    if all("?: " in field for field in fields):
        given += " = {}"
    places = {item["name"]: item for item in params if item["in"] == "path"}
    address = re.sub(r"\{(\w+)\}", lambda found: f"${{inPath(given.{_camel(found[1])})}}", path)
    assert all(f"given.{_camel(place)})" in address for place in places)
    query = _object(params, "query")
    headers = _object(params, "header")
    if is_json:
        headers = f'{{ "Content-Type": "{_JSON}"{", " + headers[2:-2] if headers != "{}" else ""} }}'
    content = "undefined" if body is None else "JSON.stringify(given.body)" if is_json else "given.body"
    answers, result = _answer(operation, method)
    call = f"this.send({method.upper()!r}, `{address}`, {query}, {headers}, {content}, options)"
    call = call.replace("'", '"')
    ends = {"Response": f"    return {call};", "void": f"    await {call};"}
    end = ends.get(answers, f"    return (await (await {call}).json()) as {result};")
    return (
        f"  /** {_one_line(operation['description'])} */\n"
        f"  async {name}({given}, options: CallOptions = {{}}): Promise<{result}> {{\n{end}\n  }}\n"
    )


def _answer(operation: dict[str, Any], method: str) -> tuple[str, str]:
    """Return what a method answers with: JSON, nothing, or a response whose body the caller reads."""
    good = next(item for status, item in operation["responses"].items() if status.startswith("2"))
    content = good.get("content", {})
    if "204" in operation["responses"]:
        return "void", "void"
    if method == "head" or list(content) != [_JSON]:
        return "Response", "Response"
    result = _type(content[_JSON]["schema"])
    return "json", "JsonObject" if result == "Json" else result


def _object(params: list[dict[str, Any]], place: str) -> str:
    found = [item["name"] for item in params if item["in"] == place]
    return (
        "{ " + ", ".join(f"{json.dumps(name)}: given.{_camel(name)}" for name in found) + " }"
        if found
        else "{}"
    )


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[-1])
    if "enum" in schema:
        return " | ".join(json.dumps(item) for item in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(item) for item in schema["anyOf"]))
    kind = schema.get("type")
    if "prefixItems" in schema:
        return f"[{', '.join(_type(item) for item in schema['prefixItems'])}]"
    if kind == "array":
        inner = _type(schema.get("items", {}))
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return (
            f"{{ [name: string]: {_type(values)} }}" if isinstance(values, dict) and values else "JsonObject"
        )
    plain = {
        "integer": "number",
        "number": "number",
        "string": "string",
        "boolean": "boolean",
        "null": "null",
    }
    return plain.get(str(kind), "Json")


def _camel(name: str) -> str:
    first, *rest = re.split(r"[_-]", name)
    return first.lower() + "".join(part.capitalize() for part in rest)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name)


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("*/", "* /")


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(write_client(), encoding="utf-8")
