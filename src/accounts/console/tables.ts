/**
 * Reads of pages about tables, each one call on the Console's login. They read records and PostgreSQL's catalogs, never a row.
 *
 * @module
 */
import type { TableDefinition } from "../../dsl/mod.ts";
import type { ConsoleActor } from "../actions/action.ts";
import { callConsole } from "../actions/action.ts";
import { beginEndRegistration } from "../apps/tables.ts";
import { ROWS_WAIT_MS } from "./app_end.ts";

/** About how large a table is; null where PostgreSQL has measured nothing yet. */
export type TableSize = {
  /** Of all apps. */
  rows: number | null;
  /** With its indexes. */
  bytes: number | null;
};

/** A table in PostgreSQL, without the parts that only its expressions show. */
export type FoundTable = {
  owner: string;
  rowSecurity: string;
  columns: [name: string, type: string, isRequired: boolean][];
  /** The values of each enum, by type. */
  types: Record<string, string[]>;
  /** Constraints, indexes, policies, triggers and rules, such as `index todos__title__idx`, and whether they are valid. */
  parts: Record<string, "there" | "invalid" | "not valid">;
};

/** A build that a push put off. */
export type ConsoleBuild = {
  table: string;
  kind: "index" | "reference";
  name: string;
  columns: string[];
  state: "waiting" | "running" | "done" | "failed";
  issue: string | null;
  attempts: number;
  /** The last recorded progress, only for an index that is being built. */
  progress: { phase: string; done: number; total: number; unit: "blocks" | "rows" } | null;
  createdAt: string;
  finishedAt: string | null;
};

/** How many apps use a table, and the first three. */
export type TableUsers = { count: number; first: string[] };

export type ConsoleTable = {
  name: string;
  owner: string;
  /** As it was recorded, with what was added while others used it. */
  definition: TableDefinition;
  users: TableUsers;
  size: TableSize | null;
  /** Nothing, if PostgreSQL has no such table. */
  found: FoundTable | null;
  builds: ConsoleBuild[];
};

/** Apps that declare the same columns of a table: how many, and the first 100. */
export type TableUse = { columns: string[]; count: number; apps: string[] };

export type TableView = ConsoleTable & { uses: TableUse[]; referredToBy: string[] };

/** A table as one app uses it. */
export type ConsoleAppTable = Pick<ConsoleTable, "name" | "owner" | "users" | "size" | "builds"> & {
  /** Those that the app declares. */
  columns: string[];
  /** How many the table has. */
  all: number;
};
export type PageApp = { slug: string; disabledAt: string | null };

/** The progress of an end of use, which is rejected if rows of another table refer to its rows. */
export type EndState = "waiting" | "done" | "rejected";

/**
 * Begins to end an app's use of the `expected` tables, and waits until the data service has deleted the rows or `isOverdue` is true. The
 * deletion continues after that.
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
    const state = await callConsole(deps, deps.cookies, "console_find_end", values);
    if (state !== "waiting" || deps.isOverdue()) return state as EndState;
    await Bun.sleep(ROWS_WAIT_MS);
  }
}
