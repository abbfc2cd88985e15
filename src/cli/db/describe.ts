/** Describes a push or its plan for people. @module */

import type { ProjectMigration } from "../../tables/history/journal.ts";
import { readMigrationChange, showMigration } from "../../tables/history/migration_text.ts";
import { showDropped } from "../../tables/plan/change.ts";
import { RejectedError, type Setting, type Terminal } from "../command.ts";
import { readProject } from "../project_file.ts";
import type { Paint } from "../terminal.ts";
import type { WrittenFiles } from "./project.ts";
import type { Pushed, Replayed } from "./schema_service.ts";
import type { Destination } from "./service.ts";

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
  return CHECKED.test(step) ? paint("yellow", `  ? ${step}`) : paint("green", `  + ${step}`);
}

/** The line of a right in rules has its own sign: added, changed or removed. */
const RULE_PAINTS: Readonly<Record<string, Parameters<Paint>[0]>> = {
  "~": "yellow",
  "-": "yellow",
};

// Sharing of tables of other apps: a question on a terminal, otherwise a warning, or a conflict if
// the project disables sharing. Never names the app that owns a table.

/** The tables that a push can start to share: none with `--no-share` or `"share": false`, otherwise all. */
export function readShare({
  args,
  folder,
}: Pick<Setting, "args" | "folder">): string[] | undefined {
  return args.has("no-share") || !readProject(folder).share ? [] : undefined;
}

/** The tables of other apps that a push starts to use, or would. */
export function listShared({ shared, replays = [] }: Pushed): string[] {
  return [...new Set([...replays, { shared }].flatMap((planned) => planned.shared))];
}

/** The tables that a person agrees to share. Later tables of other apps are not included. */
export async function agree(
  plan: () => Promise<Pushed>,
  { ask }: { ask: (plan: Pushed) => Promise<void> },
): Promise<string[]> {
  const planned = await plan();
  await ask(planned);
  return listShared(planned);
}

/** Explains sharing before the question. */
function describeSharing(tables: readonly string[]): string[] {
  return [
    `Another app owns ${tables.join(", ")}. If you continue, both apps share ${tables.length === 1 ? "the table" : "each table"}:`,
    "  - Rows stay separate: no app can read or change rows of another.",
    "  - Only the owner can add, change or remove columns.",
    "  - While you use it, the owner cannot make a column required or add a unique constraint.",
    "  - Only an administrator can end this.",
  ];
}

/** Warns after a push that could not ask. */
export function warnOfSharing({ warn }: Terminal, tables: readonly string[]): void {
  if (tables.length === 0) return;
  warn(
    `Warning: another app owns ${tables.join(", ")}, and this app now shares ${tables.length === 1 ? "it" : "them"}. Only the owner can change columns, and cannot make a column required or unique while you use the table; rows stay separate. Only an administrator can end this. To make sharing an error, use --no-share or "share": false in rowhouse.json`,
  );
}

// Questions before a push on a terminal: whether to delete the data that migrations drop, to share
// tables of other apps, and to push to an environment with `confirm`.

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
    if (reply !== undefined && !/^y(es)?$/i.test(reply.trim())) throw new RejectedError(otherwise);
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
