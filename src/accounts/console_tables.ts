/**
 * What the Console shows of apps' tables, each page with one call on the Console's login, and what administrators do with
 * them from a browser, by the same rules as the commands. Reads what was recorded and PostgreSQL's catalogs, never a row.
 *
 * @module
 */
import { SIGNALS } from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import { ROWS_WAIT_MS } from "./console_apps.ts";
import { type ConsoleDeps, callConsole, readConsole } from "./console_call.ts";
import type { ConsoleVisitor } from "./console_reads.ts";
import type { ShownCall, ShownCookies } from "./shown_call.ts";
import { type DroppedTable, refuseTableAct } from "./tables.ts";

type Shown<Content> = Content & { me: ConsoleVisitor };

/** About how large a table is; null where PostgreSQL has measured nothing yet. */
export type TableSize = {
  /** Of all apps. */
  rows: number | null;
  /** With its indexes. */
  bytes: number | null;
};

/** What PostgreSQL has of a table, but for what only its expressions tell. */
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
  fault: string | null;
  attempts: number;
  /** How far it is, as it was noted last; only of an index that is being built. */
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

export type ShownTable = ConsoleTable & { uses: TableUse[]; referredToBy: string[] };

/** Tables by name: those with a text in their name or their owner's, after a name, at most so many. */
export async function listConsoleTables(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { search, after, most }: { search: string; after: string; most: number },
): Promise<Shown<{ tables: ConsoleTable[] }>> {
  const values = [search, after, most];
  return await readConsole(deps, cookies, { name: "console_list_tables", values });
}

/** @throws {Problem} unknown_table */
export async function showConsoleTable(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  table: string,
): Promise<Shown<{ table: ShownTable }>> {
  return await refuse("", () =>
    readConsole(deps, cookies, { name: "console_show_table", values: [table] }),
  );
}

/** A table as one app uses it. */
export type ConsoleAppTable = Pick<ConsoleTable, "name" | "owner" | "users" | "size" | "builds"> & {
  /** Those that the app declares. */
  columns: string[];
  /** How many the table has. */
  all: number;
};
export type PageApp = { slug: string; disabledAt: string | null };

/** The tables that an app uses, after a name, at most so many. @throws {Problem} unknown_app */
export async function listConsoleAppTables(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { slug, after, most }: { slug: string; after: string; most: number },
): Promise<Shown<{ app: PageApp; tables: ConsoleAppTable[] }>> {
  const values = [slug, after, most];
  return await refuse(slug, () =>
    readConsole(deps, cookies, { name: "console_list_app_tables", values }),
  );
}

/** Makes an app that uses a table its owner. @throws {Problem} as `transferTable` */
export async function transferTableByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { table, slug }: { table: string; slug: string },
): Promise<void> {
  await act(deps, cookies, { slug, name: "console_transfer_table", values: [table, slug] });
}

/** The tables whose use would end together. @throws {Problem} as `findEndedUse` */
export async function findEndByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { table, slug }: { table: string; slug: string },
): Promise<string[]> {
  const call = { slug, name: "console_end_registration", values: [slug, table, null] };
  return (JSON.parse(await act(deps, cookies, call)) as { tables: string[] }).tables;
}

/** How far the end of a use is; it is refused if rows of another table refer to those. */
export type EndState = "waiting" | "done" | "refused";

/**
 * Begins to end an app's use of the tables that were `told`, and waits until the data service has deleted the rows, or
 * `isLate` says so. What is not done by then goes on.
 *
 * @throws {Problem} as `findEndedUse`
 */
export async function endRegistrationByConsole(
  deps: ConsoleDeps & { isLate: () => boolean },
  cookies: ShownCookies,
  { table, slug, told }: { table: string; slug: string; told: string },
): Promise<EndState> {
  await act(deps, cookies, { slug, name: "console_end_registration", values: [slug, table, told] });
  const call = { slug, name: "console_find_end", values: [slug, table] };
  for (;;) {
    const state = (await act(deps, cookies, call)) as EndState;
    if (state !== "waiting" || deps.isLate()) return state;
    await Bun.sleep(ROWS_WAIT_MS);
  }
}

/** Drops a table that no app uses; without the names that were `told` it only checks. @throws {Problem} as `dropTable` */
export async function dropTableByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { table, told }: { table: string; told?: string },
): Promise<DroppedTable[]> {
  const values = [table, told ?? null];
  const name = "console_drop_table";
  return JSON.parse(await act(deps, cookies, { slug: "", name, values })) as DroppedTable[];
}

/** What a browser's visitor can do about it there. */
const IN_BROWSER = {
  [SIGNALS.tableInUse]:
    "Apps use the table: under Tables of each app, end its use first, that of the owner last.",
  [SIGNALS.unknownTable]: "No table has that name.",
  [SIGNALS.isolationBroken]:
    "The database does not keep apps apart. The operator must run rowhouse doctor.",
};

async function act(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { slug, ...call }: Omit<ShownCall, "retry"> & { slug: string },
): Promise<string> {
  return await refuse(slug, async () => {
    const [row] = await callConsole<{ result: string }>(deps, cookies, {
      ...call,
      retry: "unsafe",
    });
    if (row === undefined) throw new Error(`${call.name} gave no row`);
    return row.result;
  });
}

async function refuse<Result>(slug: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw refuseTableAct(error, slug, IN_BROWSER);
  }
}
