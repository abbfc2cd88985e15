/**
 * A command from its declaration: arguments, flags and JSON document, each with a type. Parsing, help and the help of `--json`
 * follow from them.
 *
 * @module
 */

import type { FunctionName } from "../../db/mod.ts";
import { type Field, type Input, readInput } from "../../field.ts";
import { Problem } from "../../problem.ts";
import {
  type Column,
  type Columns,
  flag,
  type List,
  many,
  orNull,
  type Row,
  readList,
  record,
  text,
  toCsvHead,
  toCsvRows,
  toJsonRow,
  toPrinted,
  toValueText,
} from "../../records/actions/mod.ts";
import { readEmail } from "../../records/people/mod.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import {
  type Arguments,
  type CommandResult,
  CSV_FLAG,
  type Flag,
  type Flags,
  UsageError,
} from "../command.ts";
import { readWhole } from "../settings.ts";
import { toPrintableLine } from "../terminal.ts";
import type { AdminDeps, AdminRow } from "./task.ts";

// Commands that list records. Flags, help, lines, JSON and CSV follow from the declaration of the
// list.

const MAX_LIMIT = 10_000;

/** Texts for columns whose value is not enough. */
type Lines<Of extends Columns> = { readonly [Name in keyof Of]?: (row: Row<Of>) => string };

type ListCommand<Of extends Columns, More extends Columns, Own extends Columns> = {
  summary: string;
  example: string;
  about?: string;
  /** The default of --limit. Without it, the command prints all rows. */
  limit?: number;
  lines?: Lines<Of & Own>;
  /** The line for an empty list. */
  none: (of: string) => string;
  /** Columns that the command derives, such as those that the settings of this environment define. */
  own?: { columns: Own; read: (deps: AdminDeps, row: Row<Of>) => Row<Own> };
  /** The other values of the read that JSON has, and their lines. */
  more?: {
    names: readonly (keyof More & string)[];
    toLines: (found: Row<More>) => string[];
  };
  notes?: (rows: readonly Row<Of & Own>[]) => string[];
};

export function makeListCommand<
  Read extends FunctionName,
  Name extends string,
  Of extends Columns,
  More extends Columns,
  Own extends Columns = Record<never, never>,
>(list: List<Read, Name, Of, More>, command: ListCommand<Of, More, Own>): AdminRow {
  const { of, isOfAll = false, name, key } = list;
  const { limit, own } = command;
  const isPaged = key !== undefined && limit !== undefined;
  const columns: Of & Own = toPrinted(Object.assign({}, list.columns, own?.columns));
  const task: AdminRow["task"] = async (deps, args) => {
    const isCsv = args.has("csv");
    if (isCsv && args.has("json")) throw new UsageError("Use only one of --json and --csv");
    const [typed = ""] = of && isOfAll ? [args.text(of)] : args.positionals;
    const owner = of === "email" ? readEmail(typed) : typed;
    const max = readLimit(args, limit);
    const after = readAfter(args, key && list.columns[key]);
    const asked = { of: owner, after, ...(max && { limit: max + 1 }) };
    const found = await readList(deps, list, asked);
    const all = found[name];
    // The compiler does not join the types of both kinds of columns.
    const rows = all
      .slice(0, max)
      .map((row) => ({ ...row, ...own?.read(deps, row) }) as unknown as Row<Of & Own>);
    const last = rows.length < all.length && key !== undefined ? rows.at(-1)?.[key] : null;
    const more = toValueText(last);
    const next = more === null ? [] : [`More ${name} follow: add --after ${quoteForShell(more)}`];
    const lines = [
      ...rows.map((row) => toLine(columns, row, command.lines)),
      ...(command.more?.toLines(found) ?? []),
    ];
    return {
      document: {
        ...(of && { [of]: isOfAll ? owner || null : owner }),
        ...pick(found, command.more?.names),
        [name]: rows.map((row) => toJsonRow(columns, row)),
        ...(isPaged && { hasMore: more !== null }),
      },
      file: toCsvHead(columns) + toCsvRows(columns, rows),
      lines: [...(lines.length === 0 ? [command.none(owner)] : lines), ...next],
      notes: [...(command.notes?.(rows) ?? []), ...(isCsv ? next : [])],
    };
  };
  const document = record({
    ...(of && { [of]: isOfAll ? orNull(text()) : text() }),
    [name]: many(record(columns)),
    ...pick(list.more, command.more?.names),
    ...(isPaged && { hasMore: flag() }),
  });
  return {
    summary: command.summary,
    example: command.example,
    about: describeJson(document, command.about),
    positionals: of === undefined || isOfAll ? [] : [toTerm(of)],
    flags: {
      ...(of &&
        isOfAll && { [of]: { value: toTerm(of), about: `only the ${name} of this ${of}` } }),
      ...toFlags(key, limit),
      csv: CSV_FLAG,
    },
    task,
  };
}

function toTerm(of: "app" | "email"): string {
  return of === "app" ? "slug" : of;
}

function pick<Of extends object>(from: Of, names: readonly (keyof Of)[] = []): Partial<Of> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Partial<Of>;
}

function readLimit(args: Arguments, limit: number | undefined): number | undefined {
  return limit && readWhole("--limit", args.text("limit") ?? "", [1, MAX_LIMIT]);
}

/** The key of the last row of the previous page. */
function readAfter(args: Arguments, key: Column | undefined): string {
  const text = args.text("after") ?? "";
  return text !== "" && key?.shape === "number"
    ? String(readWhole("--after", text, [0, Number.MAX_SAFE_INTEGER]))
    : text;
}

function toFlags(key: string | undefined, limit: number | undefined): Flags {
  if (limit === undefined) return {};
  const after = {
    value: `${key}`,
    about: `starts after this ${key === "email" ? "address" : key}`,
  };
  return {
    limit: { value: "count", about: `1 to ${MAX_LIMIT}`, default: String(limit) },
    ...(key !== undefined && { after }),
  };
}

const WIDTH = 120;

/** The help of --json: the document in the notation of TypeScript, in lines that fit a terminal. */
export function describeJson({ shape }: Column, about = "", when = ""): string {
  const lines: string[] = [];
  for (const term of `Prints with --json${when}: ${shape}`.split(/(?<=,) /)) {
    const line = lines.at(-1);
    if (line === undefined || line.length + term.length >= WIDTH) lines.push(term);
    else lines[lines.length - 1] = `${line} ${term}`;
  }
  return [about, ...lines].filter((line) => line !== "").join("\n");
}

/** The values of a row on one line, without empty values. */
export function toLine<Of extends Columns>(columns: Of, row: Row<Of>, lines?: Lines<Of>): string {
  return Object.entries(columns)
    .map(([name, { label }]) => {
      const own = lines?.[name];
      if (own !== undefined) return own(row);
      const value = label === false ? null : toValueText(row[name]);
      return value === null || label === undefined ? (value ?? "") : `${label} ${value}`;
    })
    .filter((part) => part !== "")
    .map(toPrintableLine)
    .join("  ");
}

/** The reader of each argument, by its name in the help. */
type Readers = Readonly<Record<string, (text: string) => unknown>>;
/** A flag is described by an input of the action, or by its own text. */
type FlagFields = Readonly<Record<string, Field | Flag>>;
type FlagValue<Of> =
  Of extends Input<infer Value>
    ? Value | undefined
    : Of extends { many: true }
      ? readonly string[]
      : Of extends { value: string; default: string }
        ? string
        : Of extends Field | { value: string }
          ? string | undefined
          : boolean;
type Values<Args extends Readers, Flags extends FlagFields> = {
  readonly [Name in keyof Args]: ReturnType<Args[Name]>;
} & { readonly [Name in keyof Flags]: FlagValue<Flags[Name]> };

type Declared<Args extends Readers, Flags extends FlagFields, Json extends Columns> = {
  example: string;
  about?: string;
  args?: Args;
  flags?: Flags;
  /** Unset for a document that is not one record of these columns; `about` describes it. */
  json?: Json;
  run: (
    deps: AdminDeps,
    values: Values<Args, Flags>,
  ) => Promise<CommandResult & { document: Row<Json> }>;
};

export function command<
  Args extends Readers = Record<never, never>,
  const Flags extends FlagFields = Record<never, never>,
  Json extends Columns = Columns,
>(summary: string, declared: Declared<Args, Flags, Json>): AdminRow {
  const { example, about = "", args, flags, json, run } = declared;
  const fields = Object.entries<Field | Flag>(flags ?? {});
  return {
    summary,
    example,
    about: json === undefined ? about : describeJson(record(json), about),
    positionals: Object.keys(args ?? {}),
    flags: Object.fromEntries(fields.map(([name, of]) => [name, toFlag(of)])),
    task: async (deps, given) => {
      const values = [
        ...Object.entries<Readers[string]>(args ?? {}).map(([name, read], position) => [
          name,
          read(given.positionals[position] ?? ""),
        ]),
        ...fields.map(([name, of]) => [name, readFlag(given, name, of)]),
      ];
      // The compiler does not connect the names of the entries with their types.
      return await run(deps, Object.fromEntries(values) as Values<Args, Flags>);
    },
  };
}

/** An argument that the action reads itself. */
export function typed(text: string): string {
  return text;
}

export function toFlag(of: Field | Flag): Flag {
  if ("about" in of) return of;
  const { label, hint, placeholder, choices } = of;
  const values = choices === undefined ? hint : `one of ${Object.keys(choices).join(", ")}`;
  return { value: placeholder, about: [label, values].filter(Boolean).join(": ") };
}

/** @throws {UsageError} the value is invalid */
function readFlag(args: Arguments, name: string, of: Field | Flag): unknown {
  if ("many" in of) return args.texts(name);
  if ("about" in of && of.value === undefined) return args.has(name);
  const text = args.text(name);
  return text === undefined ? undefined : readTyped(of, `--${name}`, text);
}

/** @throws {UsageError} the text breaks the rule of the input */
export function readTyped(of: Field | Flag | Input<unknown>, name: string, text: string): unknown {
  if (!("read" in of)) return text;
  try {
    return readInput(of, name, text);
  } catch (error) {
    throw error instanceof Problem ? new UsageError(error.message) : error;
  }
}
