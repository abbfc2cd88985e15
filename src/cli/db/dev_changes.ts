/**
 * `.rowhouse/changes.json`: the explicit changes that `dev` of this project has made. A push to a shared service compares them with
 * the project's migrations, so that a rename of `dev` is not pushed as another column.
 *
 * @module
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { describeUnreadable, nameFormat } from "../../format.ts";
import { readIfThere, writeAtomically } from "../../std/files.ts";
import { canonicalJson, tryParseJson } from "../../std/json.ts";
import { readJournal } from "../../tables/history/journal_files.ts";
import type { Change } from "../../tables/plan/change.ts";
import { readChange } from "../../tables/read_change.ts";
import { RejectedError, type Setting } from "../command.ts";
import { HIDDEN_FOLDER } from "../dev_file.ts";
import { readDeclared } from "./journal.ts";

export const CHANGES_FILE = join(HIDDEN_FOLDER, "changes.json");
/** Where `dev` of Rowhouse 0.1 kept its migrations. */
const FORMER_JOURNAL = join(HIDDEN_FOLDER, "migrations");

const Stored = v.object({ changes: v.array(v.unknown()) });

/**
 * In the order in which they were made; none if the file is missing or damaged.
 *
 * @throws {RejectedError} a newer Rowhouse has written the file
 */
export function readDevChanges(folder: string): Change[] {
  const content = tryParseJson(readIfThere(join(folder, CHANGES_FILE)) ?? "");
  const unreadable = describeUnreadable("dev", content);
  if (unreadable !== undefined)
    throw new RejectedError(`Cannot use ${CHANGES_FILE}: it ${unreadable}`);
  const read = v.safeParse(Stored, content);
  if (!read.success) return [];
  return read.output.changes.flatMap((stored) => {
    const change = readChange(stored);
    return "value" in change ? change.value : [];
  });
}

export function addDevChanges(folder: string, added: readonly Change[]): void {
  if (added.length === 0) return;
  const texts = new Set(added.map((change) => canonicalJson(change)));
  const others = readDevChanges(folder).filter((change) => !texts.has(canonicalJson(change)));
  const content = { ...nameFormat("dev"), changes: [...others, ...added] };
  writeAtomically(join(folder, CHANGES_FILE), `${JSON.stringify(content, null, 1)}\n`);
}

/** Keeps the changes of the migrations that 0.1 wrote for `dev`, and deletes their files. Those that cannot be read stay. */
export async function replaceFormerJournal({
  folder,
  terminal,
}: Pick<Setting, "folder" | "terminal">): Promise<void> {
  const journal = join(folder, FORMER_JOURNAL);
  const declared = await readJournal(journal)
    .then(readDeclared)
    .catch(() => undefined);
  if (declared === undefined)
    return terminal.warn(
      `Notice: rowhouse dev no longer uses ${FORMER_JOURNAL}, and cannot read its files: delete the folder`,
    );
  addDevChanges(
    folder,
    declared.flatMap(({ change }) => change ?? []),
  );
  rmSync(journal, { recursive: true, force: true });
}
