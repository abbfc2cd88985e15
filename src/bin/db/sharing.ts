/**
 * Whether a push may start to use tables of other apps: asked on a terminal, a warning elsewhere, a conflict if the project
 * says so. Never says which app owns a table.
 *
 * @module
 */
import type { Setting, Terminal } from "../cli/command.ts";
import { toPrintable } from "../cli/terminal.ts";
import { readProject } from "./places.ts";
import type { Pushed } from "./schema_service.ts";

/** The tables that a push may start to share: none with `--no-share` or `"share": false`, otherwise any. */
export function readShare({
  args,
  folder,
}: Pick<Setting, "args" | "folder">): string[] | undefined {
  return args.has("no-share") || !readProject(folder).share ? [] : undefined;
}

/** The tables of other apps that a push starts to use, or would. */
export function listShared({ shared, replays = [] }: Pushed): string[] {
  return [...new Set([...replays, { shared }].flatMap((planned) => planned.shared))];
}

/** What a person agrees to share, after a plan: a table that another app creates later is not among it. */
export async function agree(
  plan: () => Promise<Pushed>,
  { ask }: { ask: (plan: Pushed) => Promise<void> },
): Promise<string[]> {
  const planned = await plan();
  await ask(planned);
  return listShared(planned);
}

/** What it means to share these tables, before it is decided. */
export function describeSharing(tables: readonly string[]): string[] {
  return [
    `Another app owns ${showTables(tables)}. If you go on, both apps share ${tables.length === 1 ? "the table" : "each table"}:`,
    "  - Rows stay separate: no app can read or change rows of another.",
    "  - The owner decides the columns. You cannot add, change or remove any.",
    "  - While you use it, the owner cannot make a column required or add a unique constraint.",
    "  - Only an administrator can end this.",
  ];
}

/** The same after a push that could not ask. */
export function warnOfSharing({ warn }: Terminal, tables: readonly string[]): void {
  if (tables.length === 0) return;
  warn(
    `Warning: another app owns ${showTables(tables)}, and this app now shares ${tables.length === 1 ? "it" : "them"}. The owner decides the columns, and cannot make one required or unique while you use it; rows stay separate. Only an administrator can end this. To make sharing an error, use --no-share or "share": false in rowhouse.json`,
  );
}

function showTables(tables: readonly string[]): string {
  return toPrintable(tables.join(", "));
}
