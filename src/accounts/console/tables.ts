/**
 * Reads of pages about tables, each one call on the Console's login. They read records and PostgreSQL's catalogs, never a row.
 *
 * @module
 */
import type { TableDefinition } from "../../dsl/mod.ts";
import { type ConsoleActor, callConsole } from "../actions/action.ts";
import { type Checked, count, many, oneOf, orNull, record, text } from "../actions/columns.ts";
import { beginEndRegistration } from "../apps/tables.ts";
import { ROWS_WAIT_MS } from "./app_end.ts";

/** Estimates of the size of a table; null before the first ANALYZE. */
export type TableSize = {
  /** Rows of all apps. */
  rows: number | null;
  /** Bytes of the table and its indexes. */
  bytes: number | null;
};

/** A table in PostgreSQL, without its expressions. */
export type FoundTable = {
  owner: string;
  rowSecurity: string;
  columns: [name: string, type: string, isRequired: boolean][];
  /** The values of each enum, by type. */
  types: Record<string, string[]>;
  /** Constraints, indexes, policies, triggers and rules, such as `index todos__title__idx`, with their validity. */
  parts: Record<string, "there" | "invalid" | "not valid">;
};

/** A build that a push deferred. */
export const BUILD = record({
  table: text(),
  kind: oneOf(["index", "reference"]),
  name: text(),
  columns: many(text()),
  state: oneOf(["waiting", "running", "done", "failed"]),
  issue: orNull(text()),
  attempts: count(),
  /** The last recorded progress of a running index build. */
  progress: orNull(
    record({ phase: text(), done: count(), total: count(), unit: oneOf(["blocks", "rows"]) }),
  ),
  createdAt: text(),
  finishedAt: orNull(text()),
});
export type ConsoleBuild = Checked<typeof BUILD>;

/** The number of apps that use a table, and the first three. */
export type TableUsers = { count: number; first: string[] };

export type ConsoleTable = {
  name: string;
  owner: string;
  /** The recorded definition, with the deferred parts. */
  definition: TableDefinition;
  users: TableUsers;
  size: TableSize | null;
  /** Null if PostgreSQL lacks the table. */
  found: FoundTable | null;
  builds: ConsoleBuild[];
};

/** Apps that declare the same columns of a table: the number, and the first 100. */
export type TableUse = { columns: string[]; count: number; apps: string[] };

export type TableView = ConsoleTable & { uses: TableUse[]; referredToBy: string[] };

/** A table as one app uses it. */
export type ConsoleAppTable = Pick<ConsoleTable, "name" | "owner" | "users" | "size" | "builds"> & {
  /** The columns that the app declares. */
  columns: string[];
  /** The number of columns of the table. */
  all: number;
};
export const PAGE_APP = record({ slug: text(), disabledAt: orNull(text()) });
export type PageApp = Checked<typeof PAGE_APP>;

/** The progress when an app's use of a table ends. `rejected` if rows of another table reference its rows. */
export type EndState = "waiting" | "done" | "rejected";

/**
 * Ends an app's use of the `expected` tables. Waits until the data service has deleted the rows, or until `isOverdue` is true;
 * the deletion then continues in the background.
 *
 * @throws {Problem} as `findEndedUse`
 */
export async function endRegistrationByConsole(
  deps: ConsoleActor & { isOverdue: () => boolean },
  { table, slug, expected }: { table: string; slug: string; expected: readonly string[] },
): Promise<EndState> {
  await beginEndRegistration(deps, { table, slug, expected });
  const values = { app_slug: slug, wanted: table };
  for (;;) {
    const state = await callConsole(deps, "console_find_end", values);
    if (state !== "waiting" || deps.isOverdue()) return state as EndState;
    await Bun.sleep(ROWS_WAIT_MS);
  }
}
