/**
 * A push to a service that lacks migrations of the project: sends the missing migrations one by one, in order, then the current
 * definition. If a migration fails, the earlier ones stay applied, and the next push continues from there.
 *
 * @module
 */
import type { Config } from "../../config/mod.ts";
import type { Definition } from "../../dsl/mod.ts";
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
  /** The journal entries of all migrations of the project. */
  entries: readonly JournalEntry[];
  /** The migrations that the service lacks. */
  ahead: readonly ProjectMigration[];
  /** The tables of other apps that the app may start to use; default: every table. */
  share: readonly string[] | undefined;
  config: Config;
  terminal: Terminal;
};

/**
 * Applies the missing migrations and pushes the definition.
 *
 * @throws {Problem} a migration failed; the message lists the migrations applied before
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
    throw reportApplied(error, replays);
  }
}

/** The plan of {@linkcode pushHistory}. Writes nothing, not even at the service. */
export async function planHistory(history: History): Promise<Pushed> {
  const { service, definition, entries, ahead, share, config, terminal } = history;
  const log = openLog(config, terminal.warn);
  if (ahead.length === 0) {
    const request = { definition, journal: entries, dryRun: true, share };
    return await service.push(request, log);
  }
  const first = readFirst(ahead, definition);
  const last = first.at(-1);
  const isAll = first.length === ahead.length || last === undefined;
  const migrations = first.map(({ text }) => text);
  // Later changes can be planned only after all migrations.
  const end = isAll ? definition : (JSON.parse(last.parts.definition) as Definition);
  const request = { definition: end, migrations, share };
  const plan = await service.planReplay(request);
  if (isAll) return plan;
  const more = `MORE: ${ahead.length - first.length} migrations follow; they can be planned after these are applied`;
  return { ...plan, notes: [...plan.notes, more] };
}

/** The first migrations, as many as fit in one request. */
function readFirst(
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

/** Adds to the error the migrations that stay applied. */
function reportApplied(error: unknown, applied: readonly PlannedMigration[]): unknown {
  if (applied.length === 0 || !(error instanceof Error)) return error;
  const names = applied.map(({ migration }) => showMigration(migration)).join(", ");
  return Object.assign(error, {
    message: `${error.message}\nThese migrations stay applied: ${names}`,
  });
}
