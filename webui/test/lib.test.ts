import { describe, expect, it } from "vitest";
import type { Catalog, Change, Commit, Conflict } from "../src/api/shapes";
import { applyRule, conflictKey, isAnswered, previewAnswer, readResolutions, writeResolutions, type Answers } from "../src/lib/answers";
import { compareImages, groupChanges, isSame } from "../src/lib/differences";
import { readEvents } from "../src/lib/events";
import { layPicture } from "../src/lib/force";
import { clipText, cutText, imageType, measureDistance, sizeOfBlob, tellBytes, tellValue } from "../src/lib/formats";
import { joinHistories, layLanes, readHistories } from "../src/lib/lanes";
import { cutLabel, cutPicture, pictureOfChanges, pictureOfRows, searchEdges } from "../src/lib/picture";
import { readPlace, writePlace } from "../src/lib/place";
import { findBindings, findQueries, findQueryAt, offerWords, readField } from "../src/lib/query_text";
import { addRule, readRules, writeRules } from "../src/lib/same_as";
import { laySchema } from "../src/lib/schema_layout";
import { seeRows } from "../src/lib/window";
import { compareWords } from "../src/lib/words";

const text = { scalar: "String" };
const catalog: Catalog = {
  nodes: [
    { id: 1, name: "Person", key: ["name"], properties: [{ id: 3, name: "name", type: text }, { id: 4, name: "age", type: { scalar: "I64" } }] },
    { id: 2, name: "Firm", key: ["name"], properties: [{ id: 5, name: "name", type: text }] },
  ],
  edges: [
    { id: 6, name: "Knows", source: "Person", target: "Person", properties: [] },
    { id: 7, name: "WorksAt", source: "Person", target: "Firm", properties: [{ id: 8, name: "role", type: text }] },
  ],
};

describe("places", () => {
  it("come back from their addresses, whatever they hold", () => {
    const params = { type: "Person", id: "a/b?c=<d>&é\u202e" };
    const [path, search] = writePlace({ graph: "my graph", page: "entity", params }).split("?") as [string, string];
    expect(readPlace(path, `?${search}`)).toEqual({ graph: "my graph", page: "entity", params });
    expect(readPlace("/", "").graph).toBeNull();
    expect(readPlace("/ui/%E0%A4%A", "").graph).toBe("%E0%A4%A");
  });
});

describe("words", () => {
  const sides = (before: string, after: string) => {
    const pieces = compareWords(before, after);
    const join = (left: string) => pieces.filter((piece) => piece.op !== left).map((piece) => piece.text).join("");
    return [join("new"), join("gone")];
  };
  it("of both texts are kept, whatever they are", () => {
    for (const [before, after] of [["", "a"], ["a b c", "a c d"], ["aaa", "aaa"], ["x ".repeat(3000), "y ".repeat(3000)], ["é 👩‍👩‍👧 שלום", "é 👩 שלום!"]] as const) {
      expect(sides(before, after)).toEqual([before, after]);
    }
  });
  it("that stay are not told as changed", () => {
    expect(compareWords("the old name", "the new name")).toEqual([
      { op: "same", text: "the " },
      { op: "gone", text: "old" },
      { op: "new", text: "new" },
      { op: "same", text: " name" },
    ]);
  });
});

describe("differences", () => {
  const update: Change = { kind: "node", type: { id: "1", name: "Person" }, id: "ada", op: "update", before: { properties: { a: 1, b: null, c: [1, 0, 0] } }, after: { properties: { a: 1, b: null, c: [0, 1, 0] } } };
  it("show what changed first, and nothing that is null on both sides", () => {
    const rows = compareImages(update.before ?? null, update.after ?? null);
    expect(rows.map((row) => [row.name, row.isChanged, row.way])).toEqual([["c", true, "vector"], ["a", false, "value"]]);
  });
  it("keep the server's counts where the list is only a page", () => {
    const told = { "node:Person": { insert: 5, update: 900, delete: 0 }, "edge:Knows": { insert: 0, update: 0, delete: 0 } };
    const groups = groupChanges([update], told);
    expect(groups.map((group) => [group.table, group.counts.update, group.entities.length])).toEqual([["node:Person", 900, 1]]);
    expect(groupChanges([update], null)[0]?.counts.update).toBe(1);
  });
  it("do not depend on the order of members, and null is not a text", () => {
    expect(isSame({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(true);
    expect(isSame(null, "")).toBe(false);
    expect(isSame(undefined, null)).toBe(true);
  });
});

describe("formats", () => {
  it("cut what is long, between characters", () => {
    expect(cutText("👩".repeat(10), 3)).toBe("👩👩👩… (20 characters)");
    expect(cutText("short", 10)).toBe("short");
    expect(cutText("x".repeat(100_000), 5)).toBe("xxxxx… (100,000 characters)");
  });
  it("clip names in drawings to the letters that have room", () => {
    expect(clipText("a_long_property_name_indeed", 16)).toBe("a_long_property…");
    expect([...clipText("👩".repeat(40), 5)].length).toBe(5);
    expect(clipText("name", 16)).toBe("name");
  });
  it("tell vectors, blobs and sizes", () => {
    expect(tellValue([0.1, 0.2, 0.3, 0.4, 0.5])).toBe("[0.1, 0.2, 0.3, 0.4, … 5 numbers]");
    expect(sizeOfBlob("base64:aGk=")).toBe(2);
    expect(tellValue("base64:aGk=")).toBe("blob, 2 bytes");
    expect(tellBytes(1536)).toBe("1.5 KiB");
  });
  it("measure vectors as the engine does", () => {
    expect(measureDistance([1, 0], [0, 1])).toBeCloseTo(1);
    expect(measureDistance([1, 0], [2, 0])).toBeCloseTo(0);
    expect(measureDistance([0, 0], [1, 0])).toBeNull();
  });
  it("take no format for an image that can carry scripts", () => {
    expect(imageType(new TextEncoder().encode("<svg xmlns"))).toBeNull();
    expect(imageType(new Uint8Array([0x89, 0x50, 0x4e, 0x47]))).toBe("image/png");
  });
});

describe("queries", () => {
  const source = 'query one($n: String, $m: I64?) { match { $p: Person { name: $n } $p $w:worksAt $f } return { $p } } // query no()\nquery two() { insert Person { name: "query three()" } }';
  it("are found with their parameters, not in comments or strings", () => {
    const found = findQueries(source);
    expect(found.map((query) => [query.name, query.isMutation])).toEqual([["one", false], ["two", true]]);
    expect(found[0]?.parameters).toEqual([{ name: "n", type: "String", isOptional: false }, { name: "m", type: "I64", isOptional: true }]);
    expect(findQueryAt(found, source.length)?.name).toBe("two");
  });
  it("bind variables to types, by edges too", () => {
    expect(findBindings(source, catalog)).toMatchObject({ p: "Person", f: "Firm" });
    expect(findBindings("match { $f: Firm $f worksAt $p }", catalog)).toEqual({ f: "Firm", p: "Person" });
  });
  it("complete what may stand there", () => {
    const labels = (before: string) => offerWords(before, `${before} }`, catalog)?.offers.map((offer) => offer.label) ?? [];
    expect(labels("query q() { match { $p: ")).toEqual(["Person", "Firm"]);
    expect(labels("query q() { match { $p: Person $p ")).toEqual(["knows", "worksAt"]);
    expect(labels("query q() { match { $p: Person $p.a")).toEqual(["name", "age"]);
    expect(labels("query q($a: ")).toContain("String");
  });
  it("read fields by their types", () => {
    const field = (type: string, given: string) => readField({ name: "x", type, isOptional: true }, given);
    expect(field("I64", "9007199254740993")).toBe("9007199254740993");
    expect(field("I64", "7")).toBe(7);
    expect(field("[String]", '["a"]')).toEqual(["a"]);
    expect(field("Bool", "")).toBeNull();
    expect(() => field("F64", "much")).toThrow("is a number");
  });
});

describe("two nodes that may be one thing", () => {
  const pair: Conflict = {
    kind: "PossibleDuplicate", entity_kind: "node", type_name: "Person", entity_id: "ada l", message: "", base: null, properties: ["email"], entities: ["ada l", "ada"],
    ours: { properties: { email: "x", age: null } }, theirs: { properties: { email: "x", age: 3 } },
  };
  const answers = (whole: "same" | "different"): Answers => ({ [conflictKey(pair)]: { whole, properties: {} } });
  it("are one or two, and nothing is chosen by property", () => {
    expect(isAnswered(pair, undefined)).toBe(false);
    expect(previewAnswer(pair, answers("same")[conflictKey(pair)])?.properties).toEqual({ email: "x", age: 3 });
    expect(writeResolutions([pair], answers("same"))).toMatchObject([{ take: "same", entities: ["ada l", "ada"] }]);
    expect(applyRule([pair], {}, { type: "*", property: "*", side: "ours" }).count).toBe(0);
  });
  it("are taken up again as they were answered", () => {
    expect(readResolutions([pair], writeResolutions([pair], answers("different")))).toEqual(answers("different"));
  });
});

describe("pictures", () => {
  it("hold what rows hold, wherever it is", () => {
    const ada = { type: "Person", id: "ada", properties: { name: "Ada" } };
    const picture = pictureOfRows([{ p: ada, list: [{ type: "Knows", id: "k", from: "ada", to: "bob", properties: {} }], q: "cyd" }], catalog, { q: "Person" });
    expect([...picture.nodes.keys()].sort()).toEqual(["node:Person:ada", "node:Person:bob", "node:Person:cyd"]);
    expect(picture.nodes.get("node:Person:ada")?.label).toBe("Ada");
    expect(picture.edges.size).toBe(1);
  });
  it("of nodes alone ask for the edges between them, a type at a time", () => {
    const rows = ["ada", "bob"].map((id) => ({ p: { type: "Person", id, properties: {} } }));
    const searches = searchEdges(pictureOfRows(rows, catalog, {}), catalog);
    expect(searches.map((search) => [search.type, search.params])).toEqual([["Knows", { from: ["ada", "bob"], to: ["ada", "bob"] }]]);
    expect(searches[0]?.query).toContain("$x: Person  $x $e: knows $y");
  });
  it("of changes mark what happened, and what is only near", () => {
    const [group] = groupChanges([{ kind: "edge", type: { id: "1", name: "Knows" }, id: "e", op: "delete", before: { properties: {}, endpoints: { from: "ada", to: "bob" } } }], null);
    const picture = pictureOfChanges(group?.entities ?? [], catalog);
    expect([...picture.nodes.values()].map((node) => node.mark)).toEqual(["context", "context"]);
    expect([...picture.edges.values()].map((edge) => edge.mark)).toEqual(["delete"]);
  });
  it("are cut to what can be drawn, and labels to what can be read", () => {
    const rows = Array.from({ length: 50 }, (_, at) => ({ p: { type: "Person", id: `p${at}`, properties: {} } }));
    expect(cutPicture(pictureOfRows(rows, catalog, {}), 10).nodes.size).toBe(10);
    expect([...cutLabel("x".repeat(100_000))].length).toBe(29);
  });
  it("are laid out the same way each time, without two nodes on one place", () => {
    const nodes = Array.from({ length: 40 }, (_, at) => `n${at}`);
    const edges = nodes.slice(1).map((key) => ["n0", key] as [string, string]);
    const places = layPicture({ nodes, edges, known: {} });
    expect(layPicture({ nodes, edges, known: {} })).toEqual(places);
    const all = Object.values(places);
    const nearest = Math.min(...all.flatMap((a, at) => all.slice(at + 1).map((b) => Math.hypot(a[0] - b[0], a[1] - b[1]))));
    expect(nearest).toBeGreaterThan(0.2);
    expect(all.flat().every(Number.isFinite)).toBe(true);
  });
});

describe("the schema", () => {
  it("is laid out with every type and edge, loops too", () => {
    const drawing = laySchema(catalog, false);
    expect(drawing.boxes.map((box) => box.type.name)).toEqual(["Person", "Firm"]);
    expect(drawing.arrows.map((arrow) => arrow.type.name).sort()).toEqual(["Knows", "WorksAt"]);
    for (const arrow of drawing.arrows) for (const point of arrow.points) {
      expect(point.y).toBeLessThanOrEqual(drawing.height);
      expect(point.x).toBeLessThanOrEqual(drawing.width);
    }
  });
  it("has arrows that begin and end at their types, whatever loops hang below", () => {
    for (const isNarrow of [true, false]) {
      const { boxes, arrows } = laySchema(catalog, isNarrow);
      for (const arrow of arrows) {
        const bottom = (name: string) => Math.max(...boxes.filter((box) => box.type.name === name).map((box) => box.y + box.height));
        expect(arrow.points[0]?.y).toBeLessThanOrEqual(bottom(arrow.type.source));
        expect(arrow.points.at(-1)?.y).toBeLessThanOrEqual(bottom(arrow.type.target) + 1);
      }
    }
  });
});

describe("lanes", () => {
  const commit = (id: string, parent: string | null, merged: string | null = null): Commit => ({ id, parent, merged_parent: merged, branch: "main", version: 1, actor: null, created_at: `2026-01-01T00:00:0${id}`, message: null, operation: "mutation", maintenance: false, metadata: {} });
  const commits = [commit("1", null), commit("2", "1"), commit("3", "1"), commit("4", "2", "3")];
  it("show each commit once, children before their parents", () => {
    const joined = joinHistories([commits.slice(0, 2), commits]);
    expect(joined.map((item) => item.id)).toEqual(["4", "3", "2", "1"]);
    const lanes = layLanes(joined, "4");
    expect(lanes.commits.map((placed) => placed.lane)).toEqual([0, 1, 0, 0]);
    expect(lanes.links.filter((link) => link.isMerge)).toEqual([{ from: "4", to: "3", isMerge: true }]);
  });
});

describe("histories", () => {
  const line = (from: number, to: number, branch: string): Commit[] => Array.from({ length: from - to }, (_, at) => ({ id: `${branch}${from - at}`, parent: null, merged_parent: null, branch, version: 1, actor: null, created_at: "", message: null, operation: "", maintenance: false, metadata: {} }));
  const main = line(5_000, 0, "m");
  const side = [...line(3, 0, "s"), ...main.slice(2_000)];
  const list = (asked: number[]) => async (branch: string, limit: number, token: string | null) => {
    const all = branch === "main" ? main : side;
    const at = Number(token ?? 0);
    asked.push(limit);
    return { commits: all.slice(at, at + limit), next_page_token: at + limit < all.length ? String(at + limit) : null };
  };
  it("are read as far as one wants, a branch only until it meets the first", async () => {
    const asked: number[] = [];
    const found = await readHistories(["main", "side"], 8_100, list(asked));
    expect(found.histories.map((history) => history.length)).toEqual([5_000, 50]);
    expect(found.hasMore).toBe(false);
    expect(asked).toEqual([1_000, 1_000, 1_000, 1_000, 1_000, 50]);
    expect((await readHistories(["main"], 100, list([]))).hasMore).toBe(true);
  });
});

describe("rules that find duplicates", () => {
  it("stand in an address, each once", () => {
    const rules = addRule(addRule([], { type: "Person", on: ["mail", "name"] }), { type: "Firm", on: ["tax_id"] });
    expect(writeRules(rules)).toBe("Person.mail,name;Firm.tax_id");
    expect(readRules("Person.mail,name;Firm.tax_id;;Nothing;.x")).toEqual(rules);
    expect(addRule(rules, { type: "Firm", on: ["tax_id"] })).toBe(rules);
    expect(readRules(undefined)).toEqual([]);
  });
});

describe("answers", () => {
  const conflict: Conflict = {
    kind: "DivergentUpdate", entity_kind: "node", type_name: "Person", entity_id: "ada", message: "", properties: ["age", "title"], entities: [],
    base: { properties: { age: 1, title: "a", city: "x" } }, ours: { properties: { age: 2, title: "b", city: "x" } }, theirs: { properties: { age: 3, title: "c", city: "y" } },
  };
  const key = conflictKey(conflict);
  const mixed: Answers = { [key]: { whole: null, properties: { age: { from: "ours" }, title: { from: "theirs" } } } };
  it("are not told before every property is decided", () => {
    const half: Answers = { [key]: { whole: null, properties: { age: { from: "ours" } } } };
    expect(isAnswered(conflict, half[key])).toBe(false);
    expect(writeResolutions([conflict], half)).toEqual([]);
  });
  it("mix sides by an image, and name one side where all are from it", () => {
    expect(writeResolutions([conflict], mixed)[0]).toMatchObject({ take: "custom", image: { properties: { age: 2, title: "c" } } });
    const ours: Answers = { [key]: { whole: null, properties: { age: { from: "ours" }, title: { from: "ours" } } } };
    expect(writeResolutions([conflict], ours)[0]).toMatchObject({ take: "ours", entity_id: "ada" });
  });
  it("show what the merge combines beside what was chosen", () => {
    expect(previewAnswer(conflict, mixed[key])?.properties).toEqual({ age: 2, title: "c", city: "y" });
  });
  it("are taken up again, unless what they were about has moved", () => {
    const kept = writeResolutions([conflict], mixed);
    expect(readResolutions([conflict], kept)).toEqual(mixed);
    const moved = { ...conflict, ours: { properties: { age: 9 } } };
    expect(readResolutions([moved], kept)).toEqual({});
    expect(isAnswered(moved, mixed[conflictKey(moved)])).toBe(false);
    expect(conflictKey(JSON.parse(JSON.stringify(conflict)) as Conflict)).toBe(key);
  });
  it("of what the graph refuses say what becomes of others, or give another value", () => {
    const many = (id: string): Conflict => ({ ...conflict, kind: "CardinalityViolation", entity_kind: "edge", type_name: "Knows", entity_id: null, base: null, ours: null, theirs: null, properties: ["src"], entities: [id, "old"] });
    const pair = [many("e1"), many("e2")] as const;
    const goes: Answers = { [conflictKey(pair[0])]: { whole: null, properties: {}, others: [{ kind: "edge", type: "Knows", id: "e1", becomes: "gone" }] } };
    expect(isAnswered(pair[1], goes[conflictKey(pair[1])])).toBe(false);
    expect(writeResolutions([...pair], goes)).toEqual([{ entity_kind: "edge", type_name: "Knows", entity_id: "e1", take: "custom", image: null }]);
    expect(readResolutions([...pair], writeResolutions([...pair], goes))).toEqual(goes);
    const twice: Conflict = { ...conflict, kind: "UniqueViolation", base: null, ours: null, theirs: { properties: { mail: "x" } }, properties: ["mail"] };
    const own: Answers = { [conflictKey(twice)]: { whole: null, properties: { mail: { value: "y" } } } };
    expect(writeResolutions([twice], own)).toMatchObject([{ take: "custom", image: { properties: { mail: "y" } } }]);
  });
  it("follow a rule for many", () => {
    const gone: Conflict = { ...conflict, kind: "DeleteVsUpdate", entity_id: "bob", theirs: null, properties: [] };
    const every = applyRule([conflict, gone], {}, { type: "*", property: "*", side: "theirs" });
    expect(every.count).toBe(2);
    expect(writeResolutions([conflict, gone], every.answers).map((item) => item.take)).toEqual(["theirs", "theirs"]);
    expect(applyRule([conflict, gone], {}, { type: "Person", property: "age", side: "ours" }).count).toBe(1);
  });
});

describe("events", () => {
  it("are read when they are whole, and the rest is kept", () => {
    const read = readEvents('id: 1\nevent: progress\ndata: {"a": 1}\n\n: still here\n\nid: 2\nevent: done\nda');
    expect(read.events).toEqual([{ id: 1, name: "progress", data: '{"a": 1}' }]);
    expect(read.rest).toBe("id: 2\nevent: done\nda");
  });
});

describe("long lists", () => {
  it("draw what is seen, however long they are", () => {
    expect(seeRows(1_000_000, 34, 34 * 500_000, 600)).toEqual({ first: 499_988, end: 500_030 });
    expect(seeRows(3, 34, 0, 600)).toEqual({ first: 0, end: 3 });
    expect(seeRows(3, 34, 34_000, 600)).toEqual({ first: 3, end: 3 });
  });
});
