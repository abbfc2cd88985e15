/**
 * A push to a service that has applied none of the project's migrations, or the first few: those that it lacks are sent one
 * by one, in order, and then what the project has no migration of yet. If one is refused, those before it stay; the next push
 * goes on from there.
 *
 * @module
 */
import type { Config } from "../../config/mod.ts";
import type { Definition } from "../../dsl/mod.ts";
import { Problem } from "../../problem.ts";
import {
  type JournalEntry,
  MAX_PLANNED,
  MAX_REPLAY_BYTES,
  type PlannedMigration,
  type ProjectMigration,
  showMigration,
} from "../../push/pure.ts";
import type { Terminal } from "../cli/command.ts";
import { openLog } from "../cli/log.ts";
import type { Pushed, SchemaService } from "./schema_service.ts";

export type History = {
  service: SchemaService;
  definition: Definition;
  /** Of all the project's migrations. */
  entries: readonly JournalEntry[];
  /** Those that the service lacks. */
  ahead: readonly ProjectMigration[];
  /** The tables of other apps that the app may start to use; default: every table. */
  share: readonly string[] | undefined;
  config: Config;
  terminal: Terminal;
};

/**
 * Applies what the service lacks, and pushes the definition.
 *
 * @throws {Problem} what refused one of them, saying what was applied before
 */
export async function pushHistory(history: History): Promise<Pushed> {
  const { service, definition, entries, ahead, share, config, terminal } = history;
  const log = openLog(config, terminal.warn);
  const replays: PlannedMigration[] = [];
  try {
    for (const { text } of ahead) {
      const request = { definition, migrations: [text], share };
      const pushed = await service.replay(request, log);
      if (pushed.migration !== null) replays.push({ ...pushed, migration: pushed.migration });
    }
    const request = { definition, journal: entries, dryRun: false, share };
    const pushed = await service.push(request, log);
    return replays.length === 0 ? pushed : { ...pushed, status: "applied", replays };
  } catch (error) {
    throw tellApplied(error, replays);
  }
}

/** What {@linkcode pushHistory} would do. Writes nothing, at the service neither. */
export async function planHistory(history: History): Promise<Pushed> {
  const { service, definition, entries, ahead, share, config, terminal } = history;
  const log = openLog(config, terminal.warn);
  if (ahead.length === 0) {
    const request = { definition, journal: entries, dryRun: true, share };
    return await service.push(request, log);
  }
  const first = takeFirst(ahead, definition);
  const last = first.at(-1);
  const isAll = first.length === ahead.length || last === undefined;
  const migrations = first.map(({ text }) => text);
  // What follows is planned on the state after all of them, or not at all.
  const end = isAll ? definition : (JSON.parse(last.parts.definition) as Definition);
  const request = { definition: end, migrations, share };
  const plan = await service.planReplay(request);
  if (isAll) return plan;
  const more = `MORE: ${ahead.length - first.length} migrations follow; they can be planned when these are applied`;
  return { ...plan, notes: [...plan.notes, more] };
}

/** As many migrations as one request can hold. */
function takeFirst(
  ahead: readonly ProjectMigration[],
  definition: Definition,
): readonly ProjectMigration[] {
  let bytes = Buffer.byteLength(JSON.stringify({ definition, migrations: [], dryRun: true }));
  const tooMany = ahead.findIndex(({ text }, index) => {
    bytes += Buffer.byteLength(JSON.stringify(text)) + 1;
    return index >= MAX_PLANNED || (bytes > MAX_REPLAY_BYTES && index > 0);
  });
  return tooMany === -1 ? ahead : ahead.slice(0, tooMany);
}

/** A refusal in the middle takes nothing back. */
function tellApplied(error: unknown, applied: readonly PlannedMigration[]): unknown {
  if (applied.length === 0 || !(error instanceof Error)) return error;
  const names = applied.map(({ migration }) => showMigration(migration)).join(", ");
  const message = `${error.message}\nApplied before, and kept: ${names}`;
  if (!(error instanceof Problem)) return Object.assign(error, { message });
  const { code, details, headers, cause } = error;
  return new Problem(code, { message, headers, cause, ...(details ? { details } : {}) });
}
