/**
 * A list of the service's records. One SQL function reads it, on the administrator's connection for operators, and in the Console
 * after the proof of the visitor (`-- read:` in `db/code/visitor_functions.ts`). The columns check what the database returns,
 * and give the table in the Console, and the lines, `--json`, help and CSV of the command.
 *
 * @module
 */
import type { Arguments, Database, FunctionName } from "../../db/mod.ts";
import { BYTE_ORDER_MARK, toCsvLine } from "../../std/csv.ts";
import { tryParseJson } from "../../std/json.ts";
import { callAsOperator } from "./action.ts";
import {
  type Column,
  type Columns,
  check,
  many,
  type Row,
  record,
  toValueText,
} from "./columns.ts";

type Asked = {
  /** The app or the address that the rows belong to. */
  of: string;
  /** The key of the last row of the previous page. */
  after: string;
  limit: number;
};

type Declared<Read extends FunctionName, Name extends string, Of extends Columns> = {
  /** The SQL function. It returns an object with the rows under `name`. */
  read: Read;
  name: Name;
  /** In the order of the table in the Console, of JSON, and of a command's lines. */
  columns: Of;
  /** The owner of the rows: the first argument of a command. */
  of?: "app" | "email";
  /** Without an owner, the list has the rows of all owners. A command names the owner in a flag. */
  isOfAll?: true;
  /** The column whose value begins the next page. */
  key?: keyof Of & string;
  /** The columns by which the Console can sort the list. */
  sorts?: readonly (keyof Of & string)[];
  /** The arguments of the SQL function for an operator. */
  ask: (asked: Asked) => Arguments<Read>;
};
export type List<
  Read extends FunctionName,
  Name extends string,
  Of extends Columns,
  More extends Columns,
> = Declared<Read, Name, Of> & {
  /** The other values that the SQL function returns. */
  more: More;
  /** The result of the SQL function. */
  result: Column<Result<Name, Of, More>>;
};
type Result<Name extends string, Of extends Columns, More extends Columns> = Record<
  Name,
  Row<Of>[]
> &
  Row<More>;

export type RowsOf<Of extends { columns: Columns }> = Row<Of["columns"]>;

const NONE = {};

export function list<
  Read extends FunctionName,
  const Name extends string,
  Of extends Columns,
  More extends Columns = Record<never, never>,
>({
  more = NONE as More,
  ...declared
}: Declared<Read, Name, Of> & { more?: More }): List<Read, Name, Of, More> {
  const result = record({ [declared.name]: many(record(declared.columns)), ...more });
  // The compiler does not connect a computed name with its type.
  return { ...declared, more, result: result as unknown as Column<Result<Name, Of, More>> };
}

/** @throws {Problem} unknown_app; invalid_request — no one has this address */
export async function readList<
  Read extends FunctionName,
  Name extends string,
  Of extends Columns,
  More extends Columns,
>(
  deps: { admin: Database },
  { read, ask, result }: List<Read, Name, Of, More>,
  { of = "", after = "", limit = ALL }: Partial<Asked> = {},
): Promise<Result<Name, Of, More>> {
  return check(result, await callAsOperator(deps, read, ask({ of, after, limit })), read);
}

/** More than any list has. */
const ALL = 1_000_000_000;

export function toJsonRow<Of extends Columns>(columns: Of, row: Row<Of>) {
  return Object.fromEntries(
    Object.entries(columns).map(([name, { kind }]) => {
      const value: unknown = row[name];
      const isJson = kind === "json" && typeof value === "string";
      return [name, isJson ? (tryParseJson(value) ?? value) : value];
    }),
  );
}

export function toCsvHead(columns: Columns): string {
  const names = toCsvColumns(columns).map(
    ([name, { csv }]) => csv || name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  return BYTE_ORDER_MARK + toCsvLine(names);
}

export function toCsvRows<Of extends Columns>(columns: Of, rows: readonly Row<Of>[]): string {
  const listed = toCsvColumns(columns);
  return rows.map((row) => toCsvLine(listed.map(([name]) => toValueText(row[name])))).join("");
}

/** Reads a page when the previous page has been sent. A failure aborts the response, so that it never looks complete. */
export function toCsvStream<Of extends Columns>(
  { columns, key }: { columns: Of; key?: keyof Of & string },
  first: Row<Of>[],
  { read, maxRows }: { read: (after: string) => Promise<Row<Of>[]>; maxRows: number },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let rows = first;
  let head = toCsvHead(columns);
  return new ReadableStream({
    pull: async (controller) => {
      controller.enqueue(encoder.encode(head + toCsvRows(columns, rows)));
      head = "";
      const last = key !== undefined && rows.length >= maxRows && rows.at(-1)?.[key];
      const after = last === false ? null : toValueText(last);
      if (after === null) return controller.close();
      try {
        rows = await read(after);
      } catch {
        // The next request reports the reason.
        controller.error();
      }
    },
  });
}

function toCsvColumns(columns: Columns) {
  return Object.entries(columns).filter(([, { csv }]) => csv !== false);
}
