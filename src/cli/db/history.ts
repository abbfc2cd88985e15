/**
 * A push to a service that lacks migrations of the project: sends the missing migrations one by one, in order, then the current
 * definition. If a migration fails, the earlier ones stay applied, and the next push continues from there.
 *
 * @module
 */
import { Problem } from "../../problem.ts";
import type { Definition } from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import { canonicalJson } from "../../std/json.ts";
import type { ProjectMigration } from "../../tables/history/journal.ts";
import { showMigration } from "../../tables/history/migration_text.ts";
import { MAX_MIGRATIONS_SENT, MAX_REPLAY_BYTES } from "../../tables/limits.ts";
import type { PushBody } from "../../tables/mod.ts";
import type { Planned } from "../../tables/push.ts";
import type { Project } from "./project.ts";
import type { Pushed, Replayed } from "./schema_service.ts";

export type PushSteps = PushBody["steps"];
type Step = PushSteps[number];
export type History = Pick<Project, "service" | "definition" | "entries" | "ahead"> &
  Pick<PushBody, "share"> & {
    /** What a plan has before the project's migrations. */
    first?: readonly Step[];
  };

/**
 * Applies the missing migrations and pushes the definition.
 *
 * @throws {Problem} a migration failed; the message lists the migrations applied before
 */
export async function pushHistory(history: History): Promise<Pushed> {
  const { service, definition, entries: journal, ahead, share } = history;
  const replays: Replayed[] = [];
  try {
    for (const migration of ahead) {
      const pushed = await service.push({ steps: [toStep(migration, definition)], share });
      replays.push(...toReplays(pushed));
    }
    const pushed = await service.push({ steps: [{ kind: "define", definition }], journal, share });
    return replays.length === 0 ? pushed : { ...pushed, status: "applied", replays };
  } catch (error) {
    throw reportApplied(error, replays);
  }
}

function toStep({ text, parts }: ProjectMigration, definition: Definition): Step {
  return { kind: "migration", text, followed: parts.definition !== canonicalJson(definition) };
}

/** Omits a migration that was applied before. */
function toReplays({ migration, steps, notes, shared }: Planned): Replayed[] {
  return migration === null ? [] : [{ migration, steps, notes, shared }];
}

/** The plan of {@linkcode pushHistory}. Writes nothing, not even at the service. */
export async function planHistory(history: History): Promise<Pushed> {
  const { service, definition, entries: journal, ahead, share } = history;
  const define: Step = { kind: "define", definition };
  const all = [
    ...(history.first ?? []),
    ...ahead.map((migration) => toStep(migration, definition)),
  ];
  if (all.length === 0)
    return await service.push({ steps: [define], journal, dryRun: true, share });
  const first = takeFirst(all, define);
  const isAll = first.length === all.length;
  const steps = isAll ? [...first, define] : [...first];
  const { earlier, ...plan } = await service
    .push({ steps, dryRun: true, share })
    .catch((error: unknown) => {
      throw history.first === undefined ? error : withoutStep(error);
    });
  const replays = (isAll ? earlier : [...earlier, plan])
    // Rules that are removed for the next steps.
    .filter((_, index) => steps[index]?.kind !== "define")
    .flatMap(toReplays);
  if (isAll) return { ...plan, replays };
  // Later changes can be planned only after all migrations.
  const left = showCount(all.length - first.length, "migration");
  const more = `MORE: ${left} to follow, planned after these are applied`;
  return { ...plan, migration: null, steps: [], shared: [], notes: [more], replays };
}

/** The error without the number of its step: no one has typed the steps before it. */
function withoutStep(error: unknown): unknown {
  if (!(error instanceof Problem)) return error;
  const { code, message, details, headers } = error;
  return new Problem(code, {
    message: message.replace(/ \(step \d+ of \d+\)$/, ""),
    headers,
    ...(details && {
      details: details.map(({ path, ...rest }) => ({
        ...{ path: path.replace(/^\/steps\/\d+/, "") },
        ...rest,
      })),
    }),
  });
}

/** The first migrations, as many as fit in one request. */
function takeFirst(migrations: readonly Step[], define: Step): readonly Step[] {
  let bytes = Buffer.byteLength(JSON.stringify({ steps: [define], dryRun: true }));
  const tooMany = migrations.findIndex((migration, index) => {
    bytes += Buffer.byteLength(JSON.stringify(migration)) + 1;
    return index >= MAX_MIGRATIONS_SENT || (bytes > MAX_REPLAY_BYTES && index > 0);
  });
  return tooMany === -1 ? migrations : migrations.slice(0, tooMany);
}

/** Adds to the error the migrations that stay applied. */
function reportApplied(error: unknown, applied: readonly Replayed[]): unknown {
  if (applied.length === 0 || !(error instanceof Error)) return error;
  const names = applied.map(({ migration }) => showMigration(migration)).join(", ");
  return Object.assign(error, {
    message: `${error.message}\nThese migrations stay applied: ${names}`,
  });
}
