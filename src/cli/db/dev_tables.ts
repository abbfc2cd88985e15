/**
 * The tables of `dev` follow the schema file: renames, conversions and drops, then a push. Rows that go are first written to a
 * file. Without an answer nothing with rows is dropped, and `dev` serves the last good schema. Never for a shared service.
 *
 * @module
 */
import { dirname, join, relative } from "node:path";
import { call, type Database, quoteName } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import { findAppId } from "../../records/apps/mod.ts";
import type { Definition } from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { compareJournal } from "../../tables/history/journal.ts";
import { readJournal } from "../../tables/history/journal_files.ts";
import { describeMerge, findMerge } from "../../tables/history/merged_files.ts";
import { keepsValues, type OwnTable, readOwnTables } from "../../tables/mod.ts";
import { type Change, changeDefinition } from "../../tables/plan/change.ts";
import { findColumn, findTable } from "../../tables/plan/declared.ts";
import { type Declared, withoutRules } from "../../tables/plan/merge_table.ts";
import { EXIT, RejectedError, type Setting, type Terminal } from "../command.ts";
import { type Administration, withDatabase, withPushDatabase } from "../database.ts";
import { explain } from "../failures.ts";
import type { Address } from "../settings.ts";
import { isYes } from "../terminal.ts";
import { describePush } from "./describe.ts";
import { addDevChanges } from "./dev_changes.ts";
import { type Answers, planChanges, planRenames, type Rename } from "./dev_plan.ts";
import { DROPPED_FOLDER, keepRows } from "./dropped_rows.ts";
import { PROJECT_JOURNAL, readDeclared } from "./journal.ts";
import type { Project } from "./project.ts";
import { type ProjectPush, type PushTask, pushProject } from "./push.ts";
import type { ServiceDestination } from "./service.ts";

export type DevPush = Omit<PushTask, "prepare" | "destination" | "dryRun" | "definition"> & {
  destination: ServiceDestination;
  definition: Definition;
  /** The database of `dev`, and the slug of the project's app. */
  address: Address;
  app: string;
  answers: Answers;
  print: (line: string) => void;
};

/**
 * Pushes the schema to `dev`, after the changes that no push makes.
 *
 * @throws {UndecidedError} a name may be a new one, or rows would go
 */
export async function pushToDev(setting: Setting, task: DevPush): Promise<ProjectPush> {
  const unfit: Unfit = new Map();
  const kept = new Set<string>();
  for (;;) {
    try {
      const prepare = (project: Project) => follow(project, { setting, task, unfit, kept });
      return await pushProject(setting, { ...task, dryRun: false, prepare });
    } catch (error) {
      if (!addUnfit(error, task.definition, unfit)) throw error;
    }
  }
}

/** Tables and columns whose rows do not fit the schema, with the reason: known after an attempt. */
type Unfit = Map<string, string>;

class UnfitError extends Error {
  readonly column: string;
  constructor(column: string, cause: Problem) {
    super(explain(cause), { cause });
    this.column = column;
  }
}

/** Whether something new does not fit, so that another attempt can drop it. */
function addUnfit(error: unknown, definition: Definition, unfit: Unfit): boolean {
  const size = unfit.size;
  if (error instanceof UnfitError) unfit.set(error.column, error.message);
  else if (isUnfit(error))
    for (const { path } of error.details ?? []) {
      const [column, table = ""] = path.split("/").reverse();
      // Other conflicts are about a whole table, which a drop would not resolve.
      if (column !== "" && findTable(definition, table) !== undefined)
        unfit.set(table, explain(error));
    }
  return unfit.size > size;
}

function isUnfit(error: unknown): error is Problem {
  return error instanceof Problem && error.code === "incompatible_schema";
}

type Following = {
  setting: Setting;
  task: DevPush;
  unfit: Unfit;
  /** The tables whose rows are in a file. */
  kept: Set<string>;
};

/** Makes the changes after which the schema can be pushed. */
async function follow(project: Project, { setting, task, unfit, kept }: Following): Promise<void> {
  const { definition, file } = project;
  const { address, app, config, answers } = task;
  const folder = join(dirname(file), PROJECT_JOURNAL);
  const migrations = await readMigrations(folder, relative(setting.folder, folder));
  await withDatabase(address, config, async (admin) => {
    const before = await readOwnTables(admin, app);
    const renames = planRenames(toDefinition(before), { definition, migrations, answers });
    if (renames.open.length > 0) throw new UndecidedError({ renames: renames.open });
    await apply(project, renames.changes, { setting, task, own: before });
    const own = renames.changes.length === 0 ? before : await readOwnTables(admin, app);
    const changes = planChanges(own, { definition, unfit });
    await checkConversions(project, changes, own);
    const administration = { admin, address, config };
    const losses = await countLosses(admin, { app, own, definition, changes, administration });
    const isOpen = ({ name, isDrop }: Loss) =>
      isDrop && answers.drops !== "all" && !answers.drops.includes(name);
    const open = losses.filter(isOpen);
    const why = open.flatMap(({ name }) => unfit.get(name) ?? []);
    if (open.length > 0) throw new UndecidedError({ losses: open, why });
    const place = { folder: setting.folder, target: task.destination.target };
    for (const [name, lost] of Map.groupBy(losses, ({ table }) => table)) {
      const table = findTable(toDefinition(own), name);
      const columns = lost.flatMap(({ column }) => column ?? []);
      if (table === undefined || kept.has(name)) continue;
      task.print(await keepRows(place, table, columns));
      kept.add(name);
    }
    await apply(project, changes, { setting, task, own });
  });
}

function toDefinition(own: readonly OwnTable[]): Definition {
  return { version: 1, tables: own.map(({ definition }) => definition) };
}

/**
 * The project's migrations, checked as before a push.
 *
 * @throws {RejectedError} the folder has conflicts, such as an edited file
 */
async function readMigrations(folder: string, name: string): Promise<Declared[]> {
  const files = await readJournal(folder);
  const { issues, ahead } = compareJournal(files, []);
  const merge = findMerge(files);
  const lines =
    merge === undefined
      ? issues.map(({ message }) => message)
      : describeMerge(merge, [], name).lines;
  if (lines.length === 0) return readDeclared(ahead);
  throw new RejectedError(
    [...lines, "dev serves the last good schema until this is corrected"].join("\n"),
    EXIT.rejected,
    { code: "edited_migration" },
  );
}

type Loss = {
  table: string;
  column?: string;
  /** As in `todos` and `todos.due`. */
  name: string;
  /** The name, with the number of rows. */
  what: string;
  /** False for a conversion, which can change values. */
  isDrop: boolean;
};

type Counting = {
  app: string;
  own: readonly OwnTable[];
  definition: Definition;
  changes: readonly Change[];
  administration: Administration;
};

/** What the changes delete or convert, if rows have it. */
async function countLosses(
  admin: Database,
  { app, own, definition, changes, administration }: Counting,
): Promise<Loss[]> {
  const present = toDefinition(own);
  const losing = changes.filter((change) => {
    if (change.kind !== "retype_column")
      return change.kind === "drop_table" || change.kind === "drop_column";
    const former = findColumn(present, change.table, change.column);
    const next = findColumn(definition, change.table, change.column);
    return former !== undefined && next !== undefined && !keepsValues(former, next);
  });
  const id = losing.length === 0 ? undefined : await findAppId({ admin }, app);
  if (id === undefined) return [];
  // With the rights of a push: an administrator can be one who sees no rows.
  return await withPushDatabase(administration, async (pushing) => {
    const losses: Loss[] = [];
    for (const change of losing) {
      const { table } = change;
      const column = "column" in change ? change.column : undefined;
      const condition = column === undefined ? "true" : `${quoteName(column)} is not null`;
      const values = { app: id, presented_proof: undefined, wanted_table: table, condition };
      const [rows] = await call(pushing, "count_changed_rows", values);
      if (rows === undefined) throw new Error(`The rows of ${table} were not counted`);
      if (rows.affected === 0) continue;
      const name = column === undefined ? table : `${table}.${column}`;
      const what = `${name} (${showCount(rows.affected, column === undefined ? "row" : "value")})`;
      const isDrop = change.kind !== "retype_column";
      losses.push({ table, ...(column === undefined ? {} : { column }), name, what, isDrop });
    }
    return losses;
  });
}

type Applying = { setting: Setting; task: DevPush; own: readonly OwnTable[] };

async function apply(
  { service }: Project,
  changes: readonly Change[],
  { setting, task, own }: Applying,
): Promise<void> {
  if (changes.length === 0) return;
  let state = toDefinition(own);
  const define = (definition: Definition) =>
    service.push({ steps: [{ kind: "define", definition }] });
  const isRuled = hasRules(own);
  // A column that rules use cannot be changed. The push that follows brings the schema's rules.
  if (isRuled) await define({ version: 1, tables: state.tables.map(withoutRules) });
  try {
    for (const change of changes) {
      const step = { kind: "change", change } as const;
      const pushed = await service.push({ steps: [step] }).catch(toUnfit(change));
      state = changeDefinition(state, change);
      addDevChanges(setting.folder, [change]);
      for (const line of describePush({ result: pushed })) task.print(line);
    }
  } catch (error) {
    if (isRuled) await define(state);
    throw error;
  }
  // Rules follow a rename, and the push can still wait for an answer.
  if (isRuled && changes.every((change) => "to" in change)) await define(state);
}

function hasRules(own: readonly OwnTable[]): boolean {
  return own.some(({ definition }) => definition.rules !== undefined);
}

/** Before rows are written to a file: the plan counts values that do not convert. With rules, the attempt itself tells. */
async function checkConversions(
  { service }: Project,
  changes: readonly Change[],
  own: readonly OwnTable[],
): Promise<void> {
  if (hasRules(own)) return;
  for (const change of changes.filter(({ kind }) => kind === "retype_column")) {
    const step = { kind: "change", change } as const;
    await service.push({ steps: [step], dryRun: true }).catch(toUnfit(change));
  }
}

/** @throws {UnfitError} rows have a value that does not convert, or that the schema does not declare */
function toUnfit(change: Change): (error: unknown) => never {
  return (error) => {
    const isOfValue = change.kind === "retype_column" || change.kind === "drop_value";
    throw isOfValue && isUnfit(error)
      ? new UnfitError(`${change.table}.${change.column}`, error)
      : error;
  };
}

/** A decision is open. The message names the commands that make it. */
export class UndecidedError extends RejectedError {
  readonly renames: readonly Rename[];
  readonly losses: readonly Loss[];
  constructor(open: {
    renames?: readonly Rename[];
    losses?: readonly Loss[];
    why?: readonly string[];
  }) {
    const { renames = [], losses = [], why = [] } = open;
    const lines = losses.length === 0 ? renames.map(describeRename) : [describeLosses(losses)];
    super([...new Set(why), ...lines].join("\n"));
    this.renames = renames;
    this.losses = losses;
  }
}

function describeRename({ from, to }: Rename): string {
  const kind = from.includes(".") ? "column" : "table";
  const name = to.split(".").at(-1) ?? "";
  return `Not pushed: ${to} may be the new name of ${from}. To rename the ${kind}, run rowhouse db rename ${quoteForShell(from)} ${quoteForShell(name)} --to dev; to drop ${from} and add another ${kind}, run ${DROP}`;
}

function describeLosses(losses: readonly Loss[]): string {
  const names = losses.map(({ what }) => what).join(" and ");
  return `Not pushed: this drops ${names}. To drop ${losses.length === 1 ? "it" : "them"}, run ${DROP}: it first writes the rows to ${DROPPED_FOLDER}. dev serves the last good schema until then`;
}

const DROP = "rowhouse db push --to dev --yes";

/** The answers with that of a person to an open decision; `undefined` if the person does not decide. */
export async function askForAnswers(
  { ask }: Pick<Terminal, "ask">,
  { renames: [rename], losses }: UndecidedError,
  { answers, signal }: { answers: Answers; signal?: AbortSignal },
): Promise<Answers | undefined> {
  if (rename === undefined) {
    const names = losses.map(({ what }) => what).join(" and ");
    const reply = await ask(`Drop ${names}? [y/N]`, signal);
    if (!isYes(reply) || answers.drops === "all") return undefined;
    return { ...answers, drops: [...answers.drops, ...losses.map(({ name }) => name)] };
  }
  const question = `Rename ${rename.from} to ${rename.to}, or drop ${rename.from}? [rename/drop/N]`;
  const reply = (await ask(question, signal))?.trim();
  if (reply === "rename") return { ...answers, renames: [...answers.renames, rename] };
  return reply === "drop" ? { ...answers, isSeparate: true } : undefined;
}
