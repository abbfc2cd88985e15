/**
 * Sharing of tables of other apps: a question on a terminal, otherwise a warning, or a conflict if
 * the project disables sharing. Never names the app that owns a table.
 *
 * @module
 */
import type { Setting, Terminal } from "../command.ts";
import { readProject } from "../project_file.ts";
import type { Pushed } from "./schema_service.ts";

/** The tables that a push can start to share: none with `--no-share` or `"share": false`, otherwise all. */
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

/** The tables that a person agrees to share. Later tables of other apps are not included. */
export async function agree(
  plan: () => Promise<Pushed>,
  { ask }: { ask: (plan: Pushed) => Promise<void> },
): Promise<string[]> {
  const planned = await plan();
  await ask(planned);
  return listShared(planned);
}

/** Explains sharing before the question. */
export function describeSharing(tables: readonly string[]): string[] {
  return [
    `Another app owns ${tables.join(", ")}. If you continue, both apps share ${tables.length === 1 ? "the table" : "each table"}:`,
    "  - Rows stay separate: no app can read or change rows of another.",
    "  - Only the owner can add, change or remove columns.",
    "  - While you use it, the owner cannot make a column required or add a unique constraint.",
    "  - Only an administrator can end this.",
  ];
}

/** Warns after a push that could not ask. */
export function warnOfSharing({ warn }: Terminal, tables: readonly string[]): void {
  if (tables.length === 0) return;
  warn(
    `Warning: another app owns ${tables.join(", ")}, and this app now shares ${tables.length === 1 ? "it" : "them"}. Only the owner can change columns, and cannot make a column required or unique while you use the table; rows stay separate. Only an administrator can end this. To make sharing an error, use --no-share or "share": false in rowhouse.json`,
  );
}
