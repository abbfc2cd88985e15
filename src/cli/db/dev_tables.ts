/**
 * The tables of `dev` follow the schema file: renames, conversions and drops, then a push. Dropped rows are first written to a
 * file. Without an answer nothing with rows is dropped, and `dev` serves the last good schema. Never for a shared service.
 *
 * @module
 */
import { dirname, join, relative } from "node:path";
import { call, type Database, quoteName } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import { findAppId } from "../../records/apps/mod.ts";
import {
  checkRules,
  type Definition,
  readDefinition,
  type TableDefinition,
} from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { compareJournal } from "../../tables/history/journal.ts";
import { readJournal } from "../../tables/history/journal_files.ts";
import { describeMerge, findMerge } from "../../tables/history/merged_files.ts";
import { keepsValues, type OwnTable, type PushBody, readOwnTables } from "../../tables/mod.ts";
import { type Change, changeDefinition, changeTable } from "../../tables/plan/change.ts";
import { findColumn, findTable } from "../../tables/plan/declared.ts";
import { type Declared, withoutRules } from "../../tables/plan/merge_table.ts";
import { EXIT, RejectedError, type Setting, type Terminal } from "../command.ts";
import { type Administration, withDatabase, withPushDatabase } from "../database.ts";
import { explain } from "../failures.ts";
import type { Address } from "../settings.ts";
import { isYes } from "../terminal.ts";
import { describePush } from "./describe.ts";
import { addDevChanges, readDevChanges } from "./dev_changes.ts";
import { planChanges } from "./dev_plan.ts";
import { type Answers, planRenames, type Rename } from "./dev_renames.ts";
import { DROPPED_FOLDER, keepRows } from "./dropped_rows.ts";
import { type PushSteps, planHistory } from "./history.ts";
import { PROJECT_JOURNAL, readDeclared } from "./journal.ts";
import type { Project } from "./project.ts";
import { type ProjectPush, type PushTask, pushProject } from "./push.ts";
import { type Destination, type ServiceDestination, withDestination } from "./service.ts";

export type DevPush = Omit<PushTask, "prepare" | "destination" | "dryRun" | "definition"> & {
  destination: ServiceDestination;
  definition: Definition;
  /** The database of `dev`, and the slug of the project's app. */
  address: Address;
  app: string;
  answers: Answers;
  print: (line: string) => void;
  /** Gets the checksum of each migration before the push itself. */
  onMigration?: ((checksum: string) => void) | undefined;
  dryRun?: boolean;
};

/**
 * Pushes the schema to `dev`, after the changes that no push makes; or plans both.
 *
 * @throws {UndecidedError} a name may be a new one, or rows would be dropped
 */
export async function pushToDev(
  setting: Setting,
  { dryRun = false, ...task }: DevPush,
): Promise<ProjectPush> {
  const following: Following = { setting, task, dryRun, unfit: new Map(), kept: new Set() };
  for (;;) {
    try {
      const prepare = (project: Project) => follow(project, following);
      const pushed = await pushProject(setting, { ...task, dryRun, prepare });
      if (dryRun)
        for (const [name, why] of following.unfit)
          task.print(`Notice: this drops ${name}, whose rows do not fit: ${why}`);
      return pushed;
    } catch (error) {
      if (addUnfit(error, task.definition, following.unfit)) continue;
      // People keep their rights until a decision. The first error is the one to report.
      await following.restoreRules?.().catch(() => undefined);
      throw error;
    }
  }
}

/** Tables and columns whose rows do not fit the schema, with the reason: known after an attempt. */
type Unfit = Map<string, string>;

class UnfitError extends Error {
  readonly column: string;
  /** Whether it lists declarations, and not only rows. */
  readonly hasDetails: boolean;
  constructor(column: string, cause: Problem) {
    super(explain(cause), { cause });
    this.column = column;
    this.hasDetails = cause.details !== undefined;
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
  task: Omit<DevPush, "dryRun">;
  dryRun: boolean;
  unfit: Unfit;
  /** The tables whose rows are in a file. */
  kept: Set<string>;
  /** The app's tables after the changes, with the rules that were removed for these. */
  ruled?: Definition;
  restoreRules?: () => Promise<unknown>;
};

/** Makes the changes after which the schema can be pushed; a dry run returns them. */
async function follow(project: Project, following: Following): Promise<PushSteps> {
  const { definition, file } = project;
  const { setting, task, dryRun, unfit, kept } = following;
  const { address, app, config, answers, destination } = task;
  const folder = join(dirname(file), PROJECT_JOURNAL);
  const migrations = await readMigrations(folder, relative(setting.folder, folder));
  return await withDatabase(address, config, async (admin) => {
    const before = await readOwnTables(admin, app);
    const renames = planRenames(toDefinition(before), { definition, migrations, answers });
    if (renames.open.length > 0 && !dryRun)
      throw new UndecidedError(destination, { renames: renames.open });
    if (unfit.size === 0)
      for (const rename of renames.open)
        task.print(`Notice: ${describeRename(rename, destination)}`);
    if (!dryRun) await apply(project, renames.changes, { following, own: before });
    const own = renames.changes.reduce(changeOwn, before);
    const changes = planChanges(own, { definition, unfit });
    const isPlannedLater = dryRun && renames.changes.length > 0;
    if (!isPlannedLater) await checkValues(project, changes, { following, own });
    if (dryRun) return toSteps([...renames.changes, ...changes], before);
    const administration = { admin, address, config };
    const losses = await countLosses(admin, { app, own, definition, changes, administration });
    // What does not fit after the changes is part of the same question.
    const first = toSteps(changes, own);
    if (first.length > 0) await planHistory({ ...project, share: task.share, first });
    const isOpen = ({ name, isDrop }: Loss) =>
      isDrop && answers.drops !== "all" && !answers.drops.includes(name);
    const open = losses.filter(isOpen);
    const why = open.flatMap(({ name }) => unfit.get(name) ?? []);
    if (open.length > 0) throw new UndecidedError(destination, { losses: open, why });
    const place = { folder: setting.folder, target: destination.target };
    const dropped = losses.flatMap(({ table, column }) => (column === undefined ? [table] : []));
    for (const [name, lost] of Map.groupBy(losses, ({ table }) => table)) {
      const table = findTable(toDefinition(own), name);
      const columns = lost.flatMap(({ column }) => column ?? []);
      if (table === undefined || kept.has(name)) continue;
      task.print(await keepRows(place, table, { columns, dropped }));
      kept.add(name);
    }
    await apply(project, changes, { following, own });
    return [];
  });
}

function changeOwn(own: readonly OwnTable[], change: Change): OwnTable[] {
  return own.flatMap(({ definition, ...rest }) => {
    const changed = changeTable(definition, change);
    return changed === undefined ? [] : { ...rest, definition: changed };
  });
}

/** A column that rules use cannot be changed: the plan has a step that removes all rules. */
function toSteps(changes: readonly Change[], own: readonly OwnTable[]): PushSteps {
  const steps = changes.map((change) => ({ kind: "change", change }) as const);
  if (steps.length === 0 || !hasRules(own)) return steps;
  return [{ kind: "define", definition: withoutAnyRules(own) }, ...steps];
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
  /** Whether the schema declares the table, which is dropped because its rows do not fit. */
  isRecreated: boolean;
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
      const isRecreated =
        change.kind === "drop_table" && findTable(definition, table) !== undefined;
      losses.push({
        ...{ table, ...(column === undefined ? {} : { column }), name, what },
        ...{ isDrop, isRecreated },
      });
    }
    return losses;
  });
}

type Applying = { following: Following; own: readonly OwnTable[] };

async function apply(
  project: Project,
  changes: readonly Change[],
  { following, own }: Applying,
): Promise<void> {
  if (changes.length === 0) return;
  const { setting, task } = following;
  // Fails before the changes if they cannot be added to the file.
  readDevChanges(setting.folder);
  await removeRules(project, { following, own });
  for (const change of changes) {
    const pushed = await pushChange(project, change, { following });
    if (following.ruled) following.ruled = changeDefinition(following.ruled, change);
    addDevChanges(setting.folder, [change]);
    for (const line of describePush({ result: pushed })) task.print(line);
  }
}

/** A column that rules use cannot be changed. The push that follows brings the schema's rules. */
async function removeRules(project: Project, { following, own }: Applying): Promise<void> {
  if (following.ruled !== undefined || !hasRules(own)) return;
  const define = (definition: Definition) =>
    send(project, following, { steps: [{ kind: "define", definition }] });
  const ruled = toDefinition(own);
  following.ruled = ruled;
  following.restoreRules = () => define(withFittingRules(following.ruled ?? ruled));
  await define(withoutAnyRules(own));
}

async function send({ service }: Project, { task }: Following, request: PushBody) {
  const pushed = await service.push(request);
  if (pushed.status === "applied" && pushed.migration !== null)
    task.onMigration?.(pushed.migration.checksum);
  return pushed;
}

function hasRules(own: readonly OwnTable[]): boolean {
  return own.some(({ definition }) => definition.rules !== undefined);
}

function withoutAnyRules(own: readonly OwnTable[]): Definition {
  return { version: 1, tables: toDefinition(own).tables.map(withoutRules) };
}

/** Without the rules of each table that name what is gone. */
function withFittingRules(definition: Definition): Definition {
  const read = readDefinition(definition);
  const issues = "issues" in read ? read.issues : checkRules(read.definition);
  const isUnfit = ({ name, rules }: TableDefinition) =>
    rules !== undefined && issues.some(({ table }) => table === name);
  if (!definition.tables.some(isUnfit)) return definition;
  const tables = definition.tables.map((table) => (isUnfit(table) ? withoutRules(table) : table));
  return withFittingRules({ version: 1, tables });
}

/** Before rows are written to a file: a plan finds values that do not convert, or that the schema no longer has. */
async function checkValues(
  project: Project,
  changes: readonly Change[],
  { following, own }: Applying,
): Promise<void> {
  for (const change of changes.filter(isOfValue)) {
    const plan = () => pushChange(project, change, { following, dryRun: true });
    await plan().catch(async (error: unknown) => {
      const isRuled = following.ruled === undefined && hasRules(own);
      const isOfRules = isRuled && error instanceof UnfitError && error.hasDetails;
      if (!isOfRules) throw error;
      if (following.dryRun) return;
      await removeRules(project, { following, own });
      await plan();
    });
  }
}

type ValueChange = Extract<Change, { kind: "retype_column" | "drop_value" }>;

function isOfValue(change: Change): change is ValueChange {
  return change.kind === "retype_column" || change.kind === "drop_value";
}

/** @throws {UnfitError} rows have a value that does not convert, or that the schema does not declare */
async function pushChange(
  project: Project,
  change: Change,
  { following, dryRun = false }: { following: Following; dryRun?: boolean },
) {
  try {
    return await send(project, following, { steps: [{ kind: "change", change }], dryRun });
  } catch (error) {
    if (!isOfValue(change) || !isUnfit(error)) throw error;
    throw new UnfitError(`${change.table}.${change.column}`, error);
  }
}

type Open = {
  renames?: readonly Rename[];
  losses?: readonly Loss[];
  /** Why rows do not fit. */
  why?: readonly string[];
};

/** A decision is open. The message names the commands that make it. */
export class UndecidedError extends RejectedError {
  readonly renames: readonly Rename[];
  readonly losses: readonly Loss[];
  constructor(destination: Destination, open: Open) {
    const { renames = [], losses = [], why = [] } = open;
    const lines = renames.map((rename) => `Not pushed: ${describeRename(rename, destination)}`);
    if (losses.length > 0) lines.push(describeLosses(losses, destination));
    super([...new Set(why), ...lines].join("\n"));
    this.renames = renames;
    this.losses = losses;
  }
}

const PUSH = "rowhouse db push";

/** Only the push itself knows what else it drops: without an answer it says so. */
function describeRename({ from, to }: Rename, destination: Destination): string {
  const kind = from.includes(".") ? "column" : "table";
  const name = to.split(".").at(-1) ?? "";
  const words = `rowhouse db rename ${quoteForShell(from)} ${quoteForShell(name)}`;
  const [rename, push] = [words, PUSH].map((command) => withDestination(command, destination));
  return `${to} may be the new name of ${from}. To rename the ${kind}, run ${rename} --yes; to drop ${from} and add another ${kind}, run ${push}`;
}

function describeLosses(losses: readonly Loss[], destination: Destination): string {
  const names = losses.map(({ what }) => what).join(" and ");
  const them = losses.length === 1 ? "it" : "them";
  const push = `${withDestination(PUSH, destination)} --yes: it first writes the rows to ${DROPPED_FOLDER}. dev serves the last good schema until then`;
  return losses.some(({ isRecreated }) => isRecreated)
    ? `Not pushed: rows do not fit. Change the schema so that they can stay. To drop ${names} instead, run ${push}`
    : `Not pushed: this drops ${names}. To drop ${them}, run ${push}`;
}

/** The answers with that of a person to an open decision; `undefined` if the person does not decide. */
export async function askForAnswers(
  { ask }: Pick<Terminal, "ask">,
  { renames: [rename], losses }: UndecidedError,
  { answers, signal }: { answers: Answers; signal?: AbortSignal },
): Promise<Answers | undefined> {
  if (rename === undefined) {
    // Another schema keeps the rows: only the command, which the message names last, drops them.
    if (losses.some(({ isRecreated }) => isRecreated)) return undefined;
    const names = losses.map(({ what }) => what).join(" and ");
    const reply = await ask(`Drop ${names}? [y/N]`, signal);
    if (!isYes(reply) || answers.drops === "all") return undefined;
    return { ...answers, drops: [...answers.drops, ...losses.map(({ name }) => name)] };
  }
  const question = `Rename ${rename.from} to ${rename.to}, or drop ${rename.from}? [rename/drop/N]`;
  const reply = (await ask(question, signal))?.trim();
  if (reply === "rename") return { ...answers, renames: [...answers.renames, rename] };
  if (reply !== "drop" || answers.separate === "all") return undefined;
  return { ...answers, separate: [...answers.separate, rename] };
}
