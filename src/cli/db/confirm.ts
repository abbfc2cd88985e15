/**
 * Questions before a push on a terminal: whether to delete the data that migrations drop, to share
 * tables of other apps, and to push to an environment with `confirm`.
 *
 * @module
 */
import type { ProjectMigration } from "../../tables/history/journal.ts";
import { readMigrationChange } from "../../tables/history/migration_text.ts";
import { showDropped } from "../../tables/plan/change.ts";
import { RejectedError, type Setting } from "../command.ts";
import { isYes } from "../terminal.ts";
import type { Pushed } from "./schema_service.ts";
import type { Destination } from "./service.ts";
import { describeSharing, listShared } from "./sharing.ts";

export type Confirm = {
  /** Whether every push requires a plan; otherwise only pushes with tables that are new to the app. */
  isForAll: boolean;
  /** `dropped`: the data that the project's migrations delete. @throws {RejectedError} a reply is no */
  ask: (plan: Pushed, dropped?: readonly string[]) => Promise<void>;
};

/** The questions before a push; `undefined` without a terminal, or with `--yes`. */
export function findConfirm(
  { args, terminal }: Setting,
  destination: Destination,
  describe: (plan: Pushed) => readonly string[],
): Confirm | undefined {
  if (args.has("yes") || !terminal.canAsk) return undefined;
  const environment = destination.kind === "service" ? destination.environment : undefined;
  const askFor = async (lines: readonly string[], { question, otherwise }: Question) => {
    for (const line of lines) terminal.warn(line);
    const reply = await terminal.ask(`${question} [y/N]`);
    if (reply !== undefined && !isYes(reply)) throw new RejectedError(otherwise);
  };
  return {
    isForAll: environment?.confirm === true,
    ask: async (plan, dropped = []) => {
      const lines = describe(plan);
      if (dropped.length > 0) for (const line of lines) terminal.warn(line);
      for (const name of dropped) {
        const reply = await terminal.ask(`This deletes data. Type ${name} to continue:`);
        if (reply?.trim() !== name) throw new RejectedError("Nothing was pushed");
      }
      const shared = listShared(plan);
      if (shared.length > 0)
        await askFor(describeSharing(shared), {
          question: `Share ${shared.join(", ")}?`,
          otherwise: "Nothing was pushed: to have a table that is not shared, choose another name",
        });
      if (environment?.confirm === true && plan.status !== "unchanged")
        await askFor(lines, {
          question: `Push this to ${environment.name} (${environment.url})?`,
          otherwise: "Nothing was pushed",
        });
    },
  };
}

/** The names that these migrations drop, as the person must type them. */
export function listDropped(migrations: readonly ProjectMigration[]): string[] {
  return migrations.flatMap(({ parts }) => {
    const read = readMigrationChange(parts);
    return "issues" in read || read.change === undefined ? [] : (showDropped(read.change) ?? []);
  });
}

type Question = { question: string; otherwise: string };
