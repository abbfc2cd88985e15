/**
 * The text of tables and columns in a schema file, and the file with them. Changes no other text: a file whose form it does not know
 * stays as it is. Pure.
 *
 * @module
 */
import type { NamedColumn } from "../../schema/mod.ts";

/** The builder of a column, such as `t.string().required()`. */
export function renderColumn({ kind, ...column }: Omit<NamedColumn, "name">): string {
  const { values, table, onDelete, onUpdate, default: initial } = column;
  const details = [
    ...(values === undefined ? [] : [toList(values)]),
    ...(table === undefined ? [] : [JSON.stringify(table)]),
    ...(onDelete === undefined ? [] : [`{ onDelete: ${JSON.stringify(onDelete)} }`]),
  ];
  return [
    `t.${kind}(${details.join(", ")})`,
    column.required && ".required()",
    column.unique && ".unique()",
    column.index && ".index()",
    initial !== undefined && `.default(${JSON.stringify(initial)})`,
    onUpdate !== undefined && `.onUpdate(${JSON.stringify(onUpdate)})`,
  ]
    .filter((part) => part !== false)
    .join("");
}

function toList(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(", ")}]`;
}

/** Lines of an object, without their indentation. */
export type Lines = readonly string[];

export function renderColumnLines({ name, ...column }: NamedColumn): Lines {
  return [`${name}: ${renderColumn(column)},`];
}

export function renderTableLines(name: string, columns: readonly NamedColumn[]): Lines {
  const lines = columns.flatMap(renderColumnLines).map((line) => `${INDENT}${line}`);
  return [`${name}: {`, ...lines, "},"];
}

const INDENT = "  ";

/**
 * The file with new lines at the end of its tables, or of the columns of `table`; `undefined` if it does not have their form, or has a
 * member of that name, which perhaps was not pushed yet.
 */
export function addToSchema(file: string, lines: Lines, table?: string): string | undefined {
  const code = blankOut(file);
  if (code === undefined) return undefined;
  // Another function of the name, or a second schema whose tables are a variable, leaves the place open.
  const calls = [...code.matchAll(/(?<before>function\s+|\.\s*)?\bdefineSchema\s*\(\s*/g)];
  const [call] = calls;
  if (call === undefined || calls.length > 1 || call.groups?.["before"] !== undefined)
    return undefined;
  if (code[call.index + call[0].length] !== "{") return undefined;
  const tables = findObject(code, call.index + call[0].length);
  if (tables === undefined) return undefined;
  const object = table === undefined ? tables : findMember(code, tables, table);
  const name = /^\w+/.exec(lines[0] ?? "")?.[0] ?? "";
  if (object === undefined || hasMember(code, object, name)) return undefined;
  return insert(file, code, { object, lines });
}

type Span = { readonly start: number; readonly end: number };

/**
 * The text with its comments and strings as spaces, of the same length: braces that are left are those of the code. `undefined` for
 * what can hide braces, such as a template or a regular expression.
 */
function blankOut(file: string): string | undefined {
  const code = file.replaceAll(
    /\/\/[^\r\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*'/g,
    (hidden) => (hidden[0] === "/" ? " " : "\u0000").repeat(hidden.length),
  );
  return /[`/"']/.test(code) ? undefined : code;
}

/** The object whose brace is at `start`. */
function findObject(code: string, start: number): Span | undefined {
  let depth = 0;
  for (let at = start; at < code.length; at++) {
    const character = code[at] ?? "";
    if ("{[(".includes(character)) depth++;
    else if ("}])".includes(character) && --depth === 0) return { start, end: at };
  }
  return undefined;
}

/** The columns of a table among the members of an object: an object itself, or that of `t.model()`. */
function findMember(code: string, { start, end }: Span, name: string): Span | undefined {
  const member = new RegExp(
    `[{,]\\s*${name}\\s*:\\s*(?:t\\s*\\.\\s*model\\s*\\(\\s*)?(?=\\{)`,
    "g",
  );
  const found = [...code.slice(0, end).matchAll(member)].filter(
    ({ index }) => index >= start && depthAt(code, start, index + 1) === 1,
  );
  const [only] = found;
  return only === undefined || found.length > 1
    ? undefined
    : findObject(code, only.index + only[0].length);
}

/** Whether an object may have a member: the name of a quoted one is blank. */
function hasMember(code: string, { start, end }: Span, name: string): boolean {
  const member = new RegExp(`\\b${name}\\b|\\u0000\\s*\\]?\\s*:`, "g");
  return [...code.slice(start, end).matchAll(member)].some(
    ({ index }) => depthAt(code, start, start + index) === 1,
  );
}

function depthAt(code: string, start: number, end: number): number {
  const inside = code.slice(start, end);
  return (inside.match(/[{[(]/g)?.length ?? 0) - (inside.match(/[}\])]/g)?.length ?? 0);
}

type Insertion = { readonly object: Span; readonly lines: Lines };

function insert(file: string, code: string, { object: { start, end }, lines }: Insertion): string {
  const last = code.slice(0, end).trimEnd().length;
  const isEmpty = last === start + 1;
  const comma = isEmpty || code[last - 1] === "," ? "" : ",";
  const lineEnd = file.includes("\r\n") ? "\r\n" : "\n";
  const outer = /^[ \t]*/.exec(file.slice(file.lastIndexOf("\n", start) + 1))?.[0] ?? "";
  const first = /^[^\r\n]*\r?\n([ \t]*)\S/.exec(file.slice(start, end))?.[1];
  const inner =
    isEmpty || first === undefined ? outer + (outer.includes("\t") ? "\t" : INDENT) : first;
  // On the line of its last member.
  const lineStart = file.lastIndexOf("\n", end) + 1;
  const isOwnLine = lineStart > last && file.slice(lineStart, end).trim() === "";
  const added = lines.map((line) => `${inner}${line}${lineEnd}`).join("");
  const before = file.slice(0, last) + comma;
  return isOwnLine
    ? before + file.slice(last, lineStart) + added + file.slice(lineStart)
    : `${before}${file.slice(last, end).trimEnd()}${lineEnd}${added}${outer}${file.slice(end)}`;
}

/** A line of a changed text. */
export type DiffLine = { readonly sign: " " | "-" | "+"; readonly text: string };

const CONTEXT_LINES = 3;

/** The lines between the first and the last difference, with those around them. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, fresh] = [before, after].map((text) => text.trimEnd().split(/\r?\n/));
  if (old === undefined || fresh === undefined) return [];
  const shorter = Math.min(old.length, fresh.length);
  let start = 0;
  while (start < shorter && old[start] === fresh[start]) start++;
  let same = 0;
  while (same < shorter - start && old.at(-1 - same) === fresh.at(-1 - same)) same++;
  const sign = (mark: DiffLine["sign"], lines: readonly string[]) =>
    lines.map((text) => ({ sign: mark, text }));
  const rest = old.length - same;
  return [
    ...sign(" ", old.slice(Math.max(start - CONTEXT_LINES, 0), start)),
    ...sign("-", old.slice(start, rest)),
    ...sign("+", fresh.slice(start, fresh.length - same)),
    ...sign(" ", old.slice(rest, rest + CONTEXT_LINES)),
  ];
}
