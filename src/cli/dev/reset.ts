/**
 * `rowhouse dev --reset`: starts over with an empty embedded database, after confirmation. Never changes the schema or other
 * files in version control.
 *
 * @module
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { RejectedError, type Setting, UsageError } from "../command.ts";
import { DEV_JOURNAL } from "../db/journal.ts";
import { TYPES_FILE } from "../db/types.ts";
import { DATA_DIR } from "./database.ts";

/** The files that describe the database's tables. */
const FILES = [DEV_JOURNAL, TYPES_FILE];

/**
 * Whether the reset was requested and confirmed.
 *
 * @throws {UsageError} a confirmation without --reset
 * @throws {RejectedError} the reply is not yes, or there is no terminal to ask on
 */
export async function confirmReset({ args, terminal }: Setting): Promise<boolean> {
  if (!args.has("reset")) {
    if (args.has("yes")) throw new UsageError("Flag --yes of rowhouse dev requires --reset");
    return false;
  }
  if (args.has("yes")) return true;
  const database = `the database in ${args.text("data-dir") ?? DATA_DIR}`;
  const reply = await terminal.ask(
    `This deletes ${database} with every row in it, ${FILES.join(" and ")}. Continue? [y/N]`,
  );
  if (reply === undefined)
    throw new RejectedError(`Cannot delete ${database} without confirmation: add --yes`);
  if (!/^y(es)?$/i.test(reply.trim())) throw new RejectedError("Nothing was deleted");
  return true;
}

/** Deletes the files that describe the deleted database; the next push writes them again. */
export function removeDevFiles(folder: string): void {
  for (const path of FILES) rmSync(join(folder, path), { recursive: true, force: true });
}
