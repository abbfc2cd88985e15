/** The steps of a push, as requested. Each is planned for a state of the app's tables. Pure. @module */

import { Problem } from "../problem.ts";
import type { Definition } from "../schema/mod.ts";
import { canonicalJson } from "../std/json.ts";
import { showMigration } from "./history/migration_text.ts";
import type { CheckedMigration } from "./history/replayed_migration.ts";
import { type Change, toTableNames } from "./plan/change.ts";
import { type Join, prepareJoin } from "./plan/join.ts";
import { type PreparedPush, type PrepareOptions, preparePush } from "./plan/prepare.ts";
import type { PushingApp } from "./push_key.ts";
import type { PushState } from "./state.ts";

export type PushStep =
  | { kind: "define"; definition: Definition }
  | { kind: "change"; change: Change }
  | {
      kind: "migration";
      migration: CheckedMigration;
      /** Whether a later definition of the project determines the use of other apps' tables. */
      isFollowed: boolean;
    }
  | ({ kind: "join"; definition: Definition } & Join);

/** A step with the definition that the app then declares. */
export type ReadyStep = Exclude<PushStep, { kind: "change" }> | ReadyChange;
export type ReadyChange = { kind: "change"; change: Change; definition: Definition };

/** The project's migration as a step; `now`: the project's current definition. */
export function toMigrationStep(migration: CheckedMigration, now: Definition): PushStep {
  const isFollowed = canonicalJson(migration.definition) !== canonicalJson(now);
  return { kind: "migration", migration, isFollowed };
}

/**
 * The statements and the record of a step.
 *
 * @throws {Problem} as {@linkcode preparePush} and {@linkcode prepareJoin}
 */
export function prepareStep(
  state: PushState,
  step: ReadyStep,
  context: { app: PushingApp; options: PrepareOptions },
): PreparedPush {
  switch (step.kind) {
    case "join":
      return prepareJoin(state, { ...context, definition: step.definition, join: step });
    case "migration": {
      const { change, definition } = step.migration;
      const migration = { ...step.migration, isFollowed: step.isFollowed };
      return preparePush(state, { ...context, definition, change, migration });
    }
    case "define":
    case "change":
      return preparePush(state, { ...context, ...step });
  }
}

export function findChange(step: PushStep): Change | undefined {
  if (step.kind === "change") return step.change;
  return step.kind === "migration" ? step.migration.change : undefined;
}

/** The tables whose state determines the plan. */
export function listTables(step: PushStep | ReadyStep): string[] {
  const { definition } =
    step.kind === "migration" ? step.migration : { definition: undefined, ...step };
  const declared = step.kind === "join" ? step.declared : undefined;
  return [
    ...[definition, declared].flatMap((of) => of?.tables.map(({ name }) => name) ?? []),
    ...toTableNames(findChange(step)),
  ];
}

/** The error of a step. For a migration, adds its name, unless the message has it; in a request of several steps, the step. */
export function nameStep(error: unknown, steps: readonly PushStep[], index: number): unknown {
  if (!(error instanceof Problem) || error.code === "push_busy") return error;
  const { code, details, headers, cause } = error;
  const named = nameMigration(error.message, steps[index]);
  const isOnly = steps.length === 1;
  const message = isOnly ? named : `${named} (step ${index + 1} of ${steps.length})`;
  const placed = details?.map(({ path, ...rest }) => ({
    path: isOnly ? path : `/steps/${index}${path}`,
    ...rest,
  }));
  return new Problem(code, { message, headers, cause, ...(placed ? { details: placed } : {}) });
}

function nameMigration(message: string, step: PushStep | undefined): string {
  if (step?.kind !== "migration") return message;
  const name = showMigration(step.migration);
  if (message.includes(name)) return message;
  return message.replace(/^Cannot push: /, `Cannot apply ${name}: `);
}
