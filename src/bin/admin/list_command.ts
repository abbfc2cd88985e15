/** Commands that list records. Flags, help, lines, JSON and CSV follow from the declaration of the list. @module */
import {
  type Columns,
  type Lines,
  type List,
  type Row,
  readList,
  toCsvHead,
  toCsvRows,
  toJsonRow,
  toValueText,
} from "../../accounts/actions/mod.ts";
import type { FunctionName } from "../../db/mod.ts";
import { quoteForShell } from "../../std/quote_for_shell.ts";
import { type Arguments, CSV_FLAG, type Flags, UsageError } from "../cli/command.ts";
import { readWhole } from "../cli/settings.ts";
import { toPrintableLine } from "../cli/terminal.ts";
import type { AdminRow } from "./task.ts";

const MAX_LIMIT = 10_000;

type ListCommand = {
  /** After `admin`. */
  name: string;
  example: string;
  about?: string;
  /** The default of --limit. Without it, the command prints all rows. */
  limit?: number;
  /** The line for an empty list. */
  none: string | ((of: string) => string);
};

export function makeListCommand<
  Read extends FunctionName,
  Name extends string,
  Of extends Columns,
  More extends Columns,
>(list: List<Read, Name, Of, More>, command: ListCommand): Record<string, AdminRow> {
  const { of, name, columns, key } = list;
  const row: AdminRow = {
    example: command.example,
    about: [command.about ?? "", `Prints with --json: ${describeDocument(list, command)}`]
      .join("\n")
      .trim(),
    positionals: of === undefined ? [] : [of === "app" ? "slug" : of],
    flags: { ...toFlags(key, command.limit), csv: CSV_FLAG },
    task: async (deps, args) => {
      const isCsv = args.has("csv");
      if (isCsv && args.has("json")) throw new UsageError("Use only one of --json and --csv");
      const [owner = ""] = args.positionals;
      const limit = readLimit(args, command);
      const asked = {
        of: owner,
        after: args.text("after") ?? "",
        ...(limit && { limit: limit + 1 }),
      };
      const found = await readList(deps, list, asked);
      const all = found[name];
      const rows = all.slice(0, limit);
      const hasMore = rows.length < all.length && key !== undefined;
      const after = hasMore ? toValueText(rows.at(-1)?.[key]) : null;
      const next =
        after === null
          ? []
          : [`More ${name} follow: rowhouse admin ${command.name} --after ${quoteForShell(after)}`];
      const none = typeof command.none === "string" ? command.none : command.none(owner);
      return {
        document: {
          ...(of && { [of]: owner }),
          ...found,
          [name]: rows.map((row) => toJsonRow(columns, row)),
          ...(isPaged(list, command) && { hasMore }),
        },
        file: toCsvHead(columns) + toCsvRows(columns, rows),
        lines: [...(rows.length === 0 ? [none] : rows.map((row) => toLine(list, row))), ...next],
        notes: isCsv ? next : [],
      };
    },
  };
  return { [command.name]: row };
}

function isPaged({ key }: { key?: string }, { limit }: ListCommand): boolean {
  return key !== undefined && limit !== undefined;
}

function readLimit(args: Arguments, { limit }: ListCommand): number | undefined {
  return limit && readWhole("--limit", args.text("limit") ?? String(limit), [1, MAX_LIMIT]);
}

function toFlags(key: string | undefined, limit: number | undefined): Flags {
  if (limit === undefined) return {};
  const after = {
    value: `${key}`,
    about: `starts after this ${key === "email" ? "address" : key}`,
  };
  return {
    limit: { value: "count", about: `1 to ${MAX_LIMIT}; default ${limit}` },
    ...(key !== undefined && { after }),
  };
}

const WIDTH = 120;

/** The document in the notation of TypeScript, in lines that fit a terminal. */
function describeDocument<Of extends { of?: string; key?: string; result: { shape: string } }>(
  list: Of,
  command: ListCommand,
): string {
  const parts = [
    ...(list.of === undefined ? [] : [`${list.of}: string`]),
    list.result.shape.slice(2, -2),
    ...(isPaged(list, command) ? ["hasMore: boolean"] : []),
  ];
  return wrap(`{ ${parts.join(", ")} }`);
}

function wrap(text: string): string {
  const lines: string[] = [];
  for (const term of text.split(" ")) {
    const line = lines.at(-1);
    if (line === undefined || line.length + term.length >= WIDTH) lines.push(term);
    else lines[lines.length - 1] = `${line} ${term}`;
  }
  return lines.join("\n");
}

/** The values of a row on one line, without empty values. */
function toLine<Of extends Columns>(
  { columns, lines }: { columns: Of; lines?: Lines<Of> },
  row: Row<Of>,
): string {
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
