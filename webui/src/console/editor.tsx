/** The editor of queries: colours, completion, and errors under the text where they are.
 *
 * It lives in a shadow root, where its styles are adopted sheets: the page allows no inline styles.
 */

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionContext } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import type { Catalog, Diagnostic } from "../api/shapes";
import { FUNCTIONS, offerWords, SCALARS, WORDS } from "../lib/query_text";

const functions = new Set(FUNCTIONS);
const scalars = new Set(SCALARS);

const language = StreamLanguage.define<{ isInComment: boolean; isAfterVariable: boolean }>({
  name: "omnigraph-gq",
  startState: () => ({ isInComment: false, isAfterVariable: false }),
  token(stream, state) {
    if (state.isInComment) {
      if (stream.match(/.*?\*\//)) state.isInComment = false;
      else stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    const wasVariable = state.isAfterVariable;
    state.isAfterVariable = false;
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match("/*")) {
      state.isInComment = true;
      return "comment";
    }
    if (stream.match(/^"(?:\\.|[^"\\])*"?/)) return "string";
    if (stream.match(/^\$[a-z_]\w*/)) {
      state.isAfterVariable = true;
      return "variableName";
    }
    if (stream.match(/^@\w+/)) return "meta";
    if (stream.match(/^-?\d+(\.\d+)?/)) return "number";
    if (stream.match(/^[A-Z]\w*/)) return scalars.has(stream.current()) ? "atom" : "typeName";
    if (stream.match(/^[a-z_]\w*/)) {
      const word = stream.current();
      if (functions.has(word) && stream.peek() === "(") return "variableName.function";
      if (/^\s*:/.test(stream.string.slice(stream.pos))) return "propertyName";
      if (wasVariable && !WORDS.has(word)) return "labelName";
      return WORDS.has(word) ? "keyword" : "propertyName";
    }
    if (wasVariable && stream.match(/^\s*\.\s*[a-z_]\w*/)) return "propertyName";
    stream.next();
    return "operator";
  },
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)" },
  { tag: [tags.typeName, tags.atom], color: "var(--code-type)" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: tags.variableName, color: "var(--code-variable)" },
  { tag: [tags.function(tags.variableName), tags.labelName], color: "var(--code-edge)" },
  { tag: tags.meta, color: "var(--quiet)" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "transparent", fontSize: "14px", minHeight: "150px", maxHeight: "46vh" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "10px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--quiet)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
  ".cm-matchingBracket": { backgroundColor: "var(--accent-soft) !important", outline: "none" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "8px", boxShadow: "var(--shadow)", overflow: "hidden" },
  ".cm-tooltip-autocomplete ul li": { padding: "3px 10px !important" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.75", marginLeft: "1em", fontStyle: "normal" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--delete) 1.5px", textUnderlineOffset: "3px" },
  ".cm-diagnostic": { padding: "6px 10px", borderLeft: "3px solid var(--delete)", fontFamily: "var(--sans)" },
  ".cm-placeholder": { color: "var(--quiet)" },
});

interface Given {
  /** What the page puts into the editor, each time it does. What the editor has told never comes back to it:
   * it would undo what has been written since. */
  put: { text: string };
  onChange: (text: string, position: number) => void;
  onRun: () => void;
  catalog: Catalog;
  problems: Diagnostic[];
  stored: { name: string; text: string }[];
}

export default function Editor({ put, onChange, onRun, catalog, problems, stored }: Given) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const given = useRef({ onChange, onRun, catalog, stored });
  given.current = { onChange, onRun, catalog, stored };

  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const complete = (context: CompletionContext) => {
      const before = context.state.sliceDoc(0, context.pos);
      if (before.trim() === "" || /(^|\n)\s*[a-z]*$/.test(before.slice(-40)) === false) {
        const found = offerWords(before, context.state.doc.toString(), given.current.catalog);
        if (!found || (found.from === context.pos && !context.explicit && !/[.:$ ]$/.test(before))) return null;
        const options = found.offers.map((offer) => ({ label: offer.label, type: offer.kind, detail: offer.detail }));
        return { from: found.from, options, validFor: /^\w*$/ };
      }
      const found = offerWords(before, context.state.doc.toString(), given.current.catalog);
      const from = found?.from ?? context.pos;
      const options = [
        ...given.current.stored.map((query) => ({ label: query.name, type: "function", detail: "stored query", apply: query.text })),
        ...(found?.offers ?? []).map((offer) => ({ label: offer.label, type: offer.kind, detail: offer.detail })),
      ];
      return from === context.pos && !context.explicit ? null : { from, options, validFor: /^\w*$/ };
    };
    const made = new EditorView({
      parent: root as unknown as Element,
      root,
      state: EditorState.create({
        doc: put.text,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          indentUnit.of("  "),
          bracketMatching(),
          closeBrackets(),
          language,
          syntaxHighlighting(colours),
          autocompletion({ override: [complete], icons: false }),
          placeholder("query people() { match { $p: Person } return { entity($p) } limit 50 }"),
          theme,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "Query", spellcheck: "false" }),
          keymap.of([
            { key: "Mod-Enter", run: () => (given.current.onRun(), true) },
            ...closeBracketsKeymap,
            ...defaultKeymap,
            ...historyKeymap,
            ...completionKeymap,
            ...lintKeymap,
          ]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged || update.selectionSet) given.current.onChange(update.state.doc.toString(), update.state.selection.main.head);
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);

  useEffect(() => {
    const made = view.current;
    if (made && made.state.doc.toString() !== put.text) made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: put.text } });
  }, [put]);

  useEffect(() => {
    const made = view.current;
    if (!made) return;
    const { doc } = made.state;
    const shown = problems.map((problem) => {
      const line = doc.line(Math.min(Math.max(1, problem.line), doc.lines));
      const from = Math.min(line.from + Math.max(0, problem.column - 1), doc.length);
      const message = problem.hint ? `${problem.message}; ${problem.hint}` : problem.message;
      return { from, to: Math.min(from + Math.max(1, problem.width), doc.length), severity: "error" as const, message };
    });
    made.dispatch(setDiagnostics(made.state, shown));
  }, [problems]);

  return <div ref={host} className="editor" />;
}
