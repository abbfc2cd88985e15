/**
 * Explicit changes that only `rowhouse dev` of this project has made: a push to another service would add the new name beside the
 * old one, and leave the rows behind. Pure, except that it reads the changes of `dev`.
 *
 * @module
 */
import type { Definition } from "../../schema/mod.ts";
import { type Cases, matchKind } from "../../std/match_kind.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { readJournal } from "../../tables/history/journal_files.ts";
import type { Change } from "../../tables/plan/change.ts";
import { findColumn, findTable, hasChanged, isRename } from "../../tables/plan/declared.ts";
import { mergeDeclared } from "../../tables/plan/merge_table.ts";
import { EXIT, RejectedError } from "../command.ts";
import { readDevChanges } from "./dev_changes.ts";
import { readDeclared } from "./journal.ts";
import type { Project } from "./project.ts";
import { isDev, withDestination } from "./service.ts";

/**
 * Rejects a push to a shared service that lacks a rename or a retype of `dev`, and mentions what only `dev` has dropped.
 *
 * @throws {RejectedError} names the command to run there first
 */
export async function checkUncommitted({ definition, location, terminal }: Project): Promise<void> {
  const { folder, journal, destination } = location;
  if (isDev(destination)) return;
  const changes = readDevChanges(folder);
  if (changes.length === 0 || journal === undefined) return;
  const project = mergeDeclared(readDeclared(await readJournal(journal)));
  const pending = changes.filter((change) => isPending(change, { project, definition }));
  const [first, ...more] = [...new Set(pending.map(toCommand))].map((command) =>
    withDestination(command, destination),
  );
  if (first === undefined) return;
  const commands = [first, ...more].join("; then ");
  const isDropping = pending.every(({ kind }) => kind.startsWith("drop"));
  if (isDropping)
    return terminal.warn(
      `Notice: only rowhouse dev has dropped this so far; to drop it: ${commands}`,
    );
  throw new RejectedError(
    `A push cannot make these changes, which only rowhouse dev has made so far: first run ${commands}`,
    EXIT.rejected,
    { code: "uncommitted_change" },
  );
}

type Schemas = {
  /** Everything that the project's migrations declare. */
  project: Definition;
  /** The schema. */
  definition: Definition;
};

/** Whether the project has the state before a change, and the schema the state after it. */
function isPending(change: Change, { project, definition }: Schemas): boolean {
  if ("to" in change) return isRename(change, { before: project, after: definition });
  if (change.kind === "retype_column") {
    const [before, after] = [project, definition].map(
      (schema) => findColumn(schema, change.table, change.column)?.kind,
    );
    return before !== undefined && before !== after && after === change.type.kind;
  }
  const isThere =
    change.kind !== "drop_column" || findTable(definition, change.table) !== undefined;
  return isThere && hasChanged(project, change) && !hasChanged(definition, change);
}

/** The command that makes a change, as a person types it. */
function toCommand(change: Change): string {
  const thing = quoteForShell(
    "column" in change ? `${change.table}.${change.column}` : change.table,
  );
  return `rowhouse db ${matchKind(COMMANDS, change, thing)}`;
}

const COMMANDS: Cases<Change, string, [thing: string]> = {
  rename_column: ({ to }, thing) => `rename ${thing} ${quoteForShell(to)}`,
  rename_table: ({ to }, thing) => `rename ${thing} ${quoteForShell(to)}`,
  drop_column: (_, thing) => `drop ${thing}`,
  drop_table: (_, thing) => `drop ${thing}`,
  drop_value: ({ value }, thing) => `drop-value ${thing} ${quoteForShell(value)}`,
  retype_column: ({ type }, thing) => `retype ${thing} ${type.kind}`,
};
