/**
 * `rowhouse db rename`, `drop`, `drop-value` and `retype`: changes that a push never makes. Each asks for confirmation.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { Problem } from "../../problem.ts";
import { type Definition, KINDS } from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import { canonicalJson } from "../../std/json.ts";
import { type Change, showChange, showDropped, toColumnType } from "../../tables/plan/change.ts";
import { findColumn } from "../../tables/plan/declared.ts";
import {
  type Command,
  type CommandResult,
  EXIT,
  RejectedError,
  type Setting,
  UsageError,
} from "../command.ts";
import { makePaint } from "../paint.ts";
import { readSettings } from "../settings.ts";
import { isYes } from "../terminal.ts";
import { findEdit } from "./change_schema.ts";
import { describePush } from "./describe.ts";
import { findDestination } from "./destination.ts";
import { addDevChanges } from "./dev_changes.ts";
import { readWait, SCHEMA_FLAGS } from "./flags.ts";
import { type History, planHistory, pushHistory } from "./history.ts";
import { type Project, type WrittenFiles, withProject, writeProject } from "./project.ts";
import type { PushTask } from "./push.ts";
import type { Pushed as PushResponse } from "./schema_service.ts";
import { type Destination, isDev, showDestination, withDestination } from "./service.ts";
import { readShare } from "./sharing.ts";

// An explicit change of a project: checks the schema file, shows the plan, asks, applies the
// change, writes files.

type ChangeTask = Omit<PushTask, "confirm"> & {
  /** The requested change, for the project's definition. */
  toChange: (definition: Definition) => Change;
  /** Shows the plan and asks for confirmation. */
  confirm: (plan: PushResponse, change: Change) => Promise<void>;
};
type Changed = WrittenFiles & { result: PushResponse };

/**
 * Applies a change, or with `dryRun` returns its plan. If the project already has the migration of the change, from another
 * service, applies that migration.
 *
 * @throws {RejectedError} the schema file does not declare the result yet, or the service lacks earlier migrations
 */
async function changeProject(setting: Setting, task: ChangeTask): Promise<Changed> {
  return await withProject(setting, task, async (project) => {
    const { definition, ahead } = project;
    const change = task.toChange(definition);
    const notEdited = findNotEdited(change, project);
    const last = ahead.at(-1);
    const steps =
      last === undefined
        ? changeSingle(change, project)
        : replayChange(change, task.destination, {
            ...project,
            share: task.share,
            definition: JSON.parse(last.parts.definition) as Definition,
          });
    const plan = await steps.plan().catch((error: unknown) => {
      // Without the edit, a plan can lack the values of an enum. The service's rejection of the change comes first.
      const isRejected = error instanceof Problem && error.code === "incompatible_schema";
      throw isRejected ? error : (notEdited ?? error);
    });
    if (notEdited !== undefined) throw notEdited;
    if (task.dryRun) return { result: plan, types: undefined, files: [] };
    if (plan.status !== "unchanged") await task.confirm(plan, change);
    const result = plan.status === "unchanged" ? plan : await steps.run();
    if (isDev(task.destination)) addDevChanges(setting.folder, [change]);
    return { result, ...(await writeProject(project, result)) };
  });
}

/** The error if the schema file does not declare the result yet. */
function findNotEdited(change: Change, { definition, file, location: { folder } }: Project) {
  const location = relative(folder, file);
  const edit = findEdit(change, { definition, location, text: readFileSync(file, "utf8") });
  if (edit === undefined) return undefined;
  return new RejectedError(
    `Cannot ${showChange(change)} yet: ${edit}, then run the command again`,
    EXIT.rejected,
    { code: "schema_not_edited" },
  );
}

type Steps = { plan: () => Promise<PushResponse>; run: () => Promise<PushResponse> };

function changeSingle(change: Change, { service, entries: journal }: Project): Steps {
  const push = (dryRun: boolean) =>
    service.push({ steps: [{ kind: "change", change }], journal, dryRun });
  return { plan: () => push(true), run: () => push(false) };
}

/** The steps that apply the project's migrations, if the change is one of them. */
function replayChange(change: Change, destination: Destination, history: History): Steps {
  const asked = canonicalJson(change);
  if (history.ahead.some(({ parts }) => parts.change === asked))
    return { plan: () => planHistory(history), run: () => pushHistory(history) };
  throw new RejectedError(
    `The service lacks ${showCount(history.ahead.length, "migration")} of this project: run ${withDestination("rowhouse db push", destination)} first`,
  );
}

const FLAGS = {
  ...SCHEMA_FLAGS,
  "dry-run": { about: "show the changes; change nothing" },
  yes: { about: "do not ask for confirmation; required without a terminal" },
} as const;

const ABOUT = `Edit the schema file first: it must already declare the result. The change is a migration: it is written to
schema/migrations, and rowhouse db push applies it to other environments. A change of rowhouse dev stays private. Only the app that
owns the table can change it, and only parts that no other app declares. If rowhouse.json has environments, ROWHOUSE_URL selects
none, unless it is that of rowhouse dev: add --to, or answer on a terminal.
Prints { status, replays, migration, steps, notes, rows, types, files } with --json.`;

export const changeCommands: readonly Command[] = [
  {
    name: "db rename",
    example: "rowhouse db rename todos.titel title --to staging\nrowhouse db rename todos tasks",
    about: `${ABOUT}
Takes effect immediately: clients must use the new name. To change clients gradually, add a column, copy the values, and
drop the old column.`,
    positionals: ["table[.column]", "name"],
    flags: FLAGS,
    run: (setting) => runChange(setting, asRead(readRename(setting))),
  },
  {
    name: "db drop",
    example:
      "rowhouse db drop todos.titel\nrowhouse db drop todos\nrowhouse db drop todos.titel --to production --yes",
    about: `${ABOUT}
Deletes the values of the column, or the rows of the table. On a terminal it asks for the name.`,
    positionals: ["table[.column]"],
    flags: FLAGS,
    run: (setting) => runChange(setting, asRead(readDrop(setting))),
  },
  {
    name: "db drop-value",
    example: "rowhouse db drop-value todos.status archived",
    about: `${ABOUT}
No row can have the value, and it cannot be the default.`,
    positionals: ["table.column", "value"],
    flags: FLAGS,
    run: (setting) => runChange(setting, asRead(readDropValue(setting))),
  },
  {
    name: "db retype",
    example: "rowhouse db retype todos.hours decimal",
    about: `${ABOUT}
Every value must convert: its text in the API must be a valid value of the new type. Enum values and the default come from the
schema file. Requests continue while rows are copied. After an interruption, repeat the command to continue. To cancel,
retype the column to its current type.`,
    positionals: ["table.column", "kind"],
    flags: FLAGS,
    run: (setting) => runChange(setting, readRetype(setting)),
  },
];

function readRename({ args: { positionals } }: Setting): Change {
  const [thing = "", to = ""] = positionals;
  return thing.includes(".")
    ? { kind: "rename_column", ...readColumn(thing), to }
    : { kind: "rename_table", table: thing, to };
}

function readDrop({ args: { positionals } }: Setting): Change {
  const [thing = ""] = positionals;
  return thing.includes(".")
    ? { kind: "drop_column", ...readColumn(thing) }
    : { kind: "drop_table", table: thing };
}

function readDropValue({ args: { positionals } }: Setting): Change {
  const [thing = "", value = ""] = positionals;
  return { kind: "drop_value", ...readColumn(thing), value };
}

/** Enum values and the default come from the schema file. */
function readRetype({ args: { positionals } }: Setting): ToChange {
  const [thing = "", typed = ""] = positionals;
  const location = readColumn(thing);
  const kind = KINDS.find((known) => known === typed);
  if (kind === undefined)
    throw new UsageError(`Cannot read "${typed}": must be one of ${KINDS.join(", ")}`);
  return (definition) => {
    const declared = findColumn(definition, location.table, location.column);
    const type = declared?.kind === kind ? toColumnType(declared) : { kind };
    return { kind: "retype_column", ...location, type };
  };
}

function asRead(change: Change): ToChange {
  return () => change;
}

function readColumn(text: string): { table: string; column: string } {
  const [table = "", column = "", ...more] = text.split(".");
  if (table !== "" && column !== "" && more.length === 0) return { table, column };
  throw new UsageError(
    `Cannot read "${text}": must be a table and its column, such as todos.title`,
  );
}

type ToChange = (definition: Definition) => Change;

async function runChange(setting: Setting, toChange: ToChange): Promise<CommandResult> {
  const { args, env, terminal } = setting;
  const config = readSettings(env);
  const destination = await findDestination(setting, config, { mustBeNamed: true });
  const paint = makePaint(env, process.stdout.isTTY === true);
  const stop = terminal.spin("Planning");
  const changed = await changeProject(setting, {
    ...{ toChange, destination, config, waitS: readWait(args), dryRun: args.has("dry-run") },
    share: readShare(setting),
    confirm: async (result, change) => {
      stop();
      const lines = describePush({ result }, paint);
      await confirm(setting, { change, destination, lines });
    },
  }).finally(stop);
  const { types = null, files } = changed;
  const { status, migration, steps, notes, replays = [], rows } = changed.result;
  return {
    document: { status, replays, migration, steps, notes, rows, types, files },
    lines: describePush(changed, paint),
  };
}

type Asked = { change: Change; destination: Destination; lines: readonly string[] };

/** @throws {RejectedError} the reply is no, or there is no terminal to ask on */
async function confirm(
  { args, terminal }: Setting,
  { change, destination, lines }: Asked,
): Promise<void> {
  if (args.has("yes")) return;
  if (!terminal.canAsk)
    throw new RejectedError(
      `Nothing was changed: cannot ask for confirmation without a terminal; to ${showChange(change)}, add --yes`,
    );
  for (const line of lines) terminal.warn(line);
  const name = showDropped(change);
  const where = showDestination(destination);
  if (name === undefined) {
    const title = showChange(change);
    const question = `${title.slice(0, 1).toUpperCase()}${title.slice(1)}`;
    const reply = await terminal.ask(`${question} at ${where}? [y/N]`);
    if (isYes(reply)) return;
  } else {
    const reply = await terminal.ask(`This deletes data at ${where}. Type ${name} to continue:`);
    if (reply?.trim() === name) return;
  }
  throw new RejectedError("Nothing was changed");
}
