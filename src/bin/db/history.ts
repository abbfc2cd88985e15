/**
 * A push to a service that lacks migrations of the project: sends the missing migrations one by one, in order, then the current
 * definition. If a migration fails, the earlier ones stay applied, and the next push continues from there.
 *
 * @module
 */
import type { Definition } from "../../dsl/mod.ts";
import {
  MAX_MIGRATIONS_SENT,
  MAX_REPLAY_BYTES,
  type PlannedMigration,
  type ProjectMigration,
  showMigration,
} from "../../push/pure.ts";
import type { Project } from "./project.ts";
import type { Pushed, PushRequest } from "./schema_service.ts";

export type History = Pick<Project, "service" | "definition" | "entries" | "ahead"> &
  Pick<PushRequest, "share">;

/**
 * Applies the missing migrations and pushes the definition.
 *
 * @throws {Problem} a migration failed; the message lists the migrations applied before
 */
export async function pushHistory(history: History): Promise<Pushed> {
  const { service, definition, entries, ahead, share } = history;
  const replays: PlannedMigration[] = [];
  try {
    for (const { text } of ahead) {
      const pushed = await service.replay({ definition, migrations: [text], share });
      if (pushed.migration !== null) replays.push({ ...pushed, migration: pushed.migration });
    }
    const pushed = await service.push({ definition, journal: entries, dryRun: false, share });
    return replays.length === 0 ? pushed : { ...pushed, status: "applied", replays };
  } catch (error) {
    throw reportApplied(error, replays);
  }
}

/** The plan of {@linkcode pushHistory}. Writes nothing, not even at the service. */
export async function planHistory(history: History): Promise<Pushed> {
  const { service, definition, entries, ahead, share } = history;
  if (ahead.length === 0)
    return await service.push({ definition, journal: entries, dryRun: true, share });
  const first = readFirst(ahead, definition);
  const last = first.at(-1);
  const isAll = first.length === ahead.length || last === undefined;
  const migrations = first.map(({ text }) => text);
  // Later changes can be planned only after all migrations.
  const end = isAll ? definition : (JSON.parse(last.parts.definition) as Definition);
  const plan = await service.planReplay({ definition: end, migrations, share });
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
    return index >= MAX_MIGRATIONS_SENT || (bytes > MAX_REPLAY_BYTES && index > 0);
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
