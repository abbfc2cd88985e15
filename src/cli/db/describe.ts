/** Describes a push or its plan for people. @module */

import { showMigration } from "../../tables/history/migration_text.ts";
import type { Paint } from "../paint.ts";
import type { WrittenFiles } from "./project.ts";
import type { Pushed, Replayed } from "./schema_service.ts";

const OPENINGS = {
  applied: "Applied",
  planned: "Would apply",
  unchanged: "Nothing to do",
} as const;

/** A step that checks rows first can still fail; it is marked. */
const CHECKED = /\(rows are checked\)$/;

/** Describes a push: the migrations that it applied first, its steps, and the written files. */
export function describePush(
  { result, types, files = [] }: { result: Pushed } & Partial<WrittenFiles>,
  paint: Paint = (_, text) => text,
): string[] {
  const { migration, status, replays = [] } = result;
  const isNothing = migration === null && replays.length === 0;
  return [
    ...(isNothing ? [OPENINGS.unchanged] : []),
    ...replays.flatMap((replay) => describeMigration(OPENINGS[status], replay, paint)),
    ...(migration === null ? [] : [`${OPENINGS[status]} ${showMigration(migration)}`]),
    ...describeSteps(result, paint),
    ...[...files, ...(types === undefined ? [] : [types])].map((file) => `Wrote ${file}`),
  ];
}

function describeMigration(opening: string, replayed: Replayed, paint: Paint): string[] {
  const lines = describeSteps(replayed, paint);
  return [
    `${opening} ${showMigration(replayed.migration)}${lines.length === 0 ? ", which changes nothing here" : ""}`,
    ...lines,
  ];
}

function describeSteps({ steps, notes }: Pick<Pushed, "steps" | "notes">, paint: Paint): string[] {
  return [
    ...steps.map((step) => describeStep(step, paint)),
    ...notes.map((notice) => paint("dim", `Notice: ${notice}`)),
  ];
}

function describeStep(step: string, paint: Paint): string {
  const [, sign] = /^([+~-]) /.exec(step) ?? [];
  if (sign !== undefined) return paint(RULE_PAINTS[sign] ?? "green", `  ${step}`);
  if (step.startsWith("drop ")) return paint("yellow", `  - ${step}`);
  return CHECKED.test(step) ? paint("yellow", `  ? ${step}`) : paint("green", `  + ${step}`);
}

/** The line of a right in rules has its own sign: added, changed or removed. */
const RULE_PAINTS: Readonly<Record<string, Parameters<Paint>[0]>> = {
  "~": "yellow",
  "-": "yellow",
};
