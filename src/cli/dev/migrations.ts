/**
 * Replays the project's migrations in `dev`: those that a pull or a checkout brought are applied to `dev`'s rows, and renames that
 * the folder no longer has are undone. Never writes to the folder, except a hidden file with what it has replayed: without it,
 * `dev` could not tell a pulled rename from one that it has already made.
 *
 * @module
 */
import { dirname, join, relative } from "node:path";
import * as v from "valibot";
import { nameFormat } from "../../format.ts";
import type { Definition } from "../../schema/mod.ts";
import { readIfThere, writeAtomically } from "../../std/files.ts";
import { tryParseJson } from "../../std/json.ts";
import { compareJournal } from "../../tables/history/journal.ts";
import { readJournal } from "../../tables/history/journal_files.ts";
import { describeMerge, findMerge } from "../../tables/history/merged_files.ts";
import { type MigrationRecord, showMigration } from "../../tables/history/migration_text.ts";
import type { Change } from "../../tables/plan/change.ts";
import { mergeDeclared } from "../../tables/plan/merge_table.ts";
import { readChange } from "../../tables/read_change.ts";
import { EXIT, RejectedError } from "../command.ts";
import { isRename } from "../db/change_schema.ts";
import { fetchMigrations, PROJECT_JOURNAL, readDeclared } from "../db/journal.ts";
import type { Project } from "../db/project.ts";
import { type DevTables, openDevTables } from "./dev_tables.ts";
import { countAdopted, type Replay, replayMigration, toReplays } from "./replay.ts";

export type Replayed = {
  dev: DevTables;
  /** Everything that the project's migrations declare. */
  committed: Definition;
};

type Pulled = ReplayedMigration & Replay;

/**
 * Applies the migrations of the project that `dev` has not replayed yet. `report` gets what each did.
 *
 * @throws {RejectedError} the folder has conflicts, such as an edited file
 * @throws {Problem} a migration is rejected; those before it stay applied
 */
export async function replayMigrations(
  { file, location, definition, service, missing, stale, tables }: Project,
  report: (line: string) => void,
): Promise<Replayed> {
  const pulled = await readPulled(join(dirname(file), PROJECT_JOURNAL));
  const committed = mergeDeclared(pulled);
  // The files of a deleted database say nothing about this one.
  const files = stale.length === 0 ? await readJournal(location.journal) : [];
  const own = [...files, ...(await fetchMigrations(service, missing))];
  const dev = openDevTables({
    service,
    tables: mergeDeclared(readDeclared(own)),
    foreign: new Set(tables.filter(({ owned }) => !owned).map(({ name }) => name)),
  });
  const { migrations: history } = await service.status();
  const recorded = readReplayed(location.journal, history);
  const keep = async (replayed: readonly ReplayedMigration[]) => {
    const last = (await service.status()).migrations.at(-1);
    writeReplayed(location.journal, last?.checksum, replayed.map(toRecord));
  };
  const isEmpty = history.length === 0;
  if (isEmpty) {
    // Without rows there is nothing to rename or convert: the schema's push creates the tables.
    await keep(pulled);
    return { dev, committed };
  }
  const has = (list: readonly ReplayedMigration[], { checksum }: ReplayedMigration) =>
    list.some((other) => other.checksum === checksum);
  let replayed = [...(recorded ?? [])];
  for (const migration of (recorded ?? []).toReversed()) {
    if (has(pulled, migration)) continue;
    if (!(await undo(dev, { migration, definition, report }))) continue;
    replayed = replayed.filter((other) => other !== migration);
    await keep(replayed);
  }
  const pending = pulled.filter((migration) => !has(replayed, migration));
  const adopted = countAdopted(pending, dev.now());
  for (const [index, migration] of pending.entries()) {
    if (index >= adopted) {
      await replayMigration(dev, migration).catch((error: unknown) => {
        throw nameMigration(error, migration);
      });
      for (const line of describe(dev, `Applied ${migration.name} of the project`)) report(line);
    }
    replayed = [...replayed, migration];
    if (index >= adopted || index === pending.length - 1) await keep(replayed);
  }
  return { dev, committed };
}

/** The project's migrations, checked as before a push. */
async function readPulled(folder: string): Promise<Pulled[]> {
  const files = await readJournal(folder);
  const { issues, ahead } = compareJournal(files, []);
  const merge = findMerge(files);
  const lines =
    merge === undefined
      ? issues.map(({ message }) => message)
      : describeMerge(merge, [], relative(dirname(dirname(folder)), folder)).lines;
  if (lines.length > 0)
    throw new RejectedError(
      [...lines, "dev serves the previous schema until this is corrected"].join("\n"),
      EXIT.rejected,
      { code: "edited_migration" },
    );
  const replays = toReplays(readDeclared(ahead));
  return replays.map((replay, index) => {
    const parts = ahead[index]?.parts;
    if (parts === undefined) throw new Error("A migration without a file");
    return { ...replay, name: showMigration(parts), checksum: parts.checksum };
  });
}

function toRecord({ name, checksum, change }: ReplayedMigration): ReplayedMigration {
  return { name, checksum, ...(change === undefined ? {} : { change }) };
}

function nameMigration(error: unknown, { name }: Pulled): unknown {
  if (!(error instanceof Error)) return error;
  return Object.assign(error, { message: `dev cannot apply ${name}: ${error.message}` });
}

type Undo = {
  migration: ReplayedMigration;
  definition: Definition;
  report: (line: string) => void;
};

/** Renames back, if this branch has the former name. Everything else that another branch did stays in `dev`, unused. */
async function undo(dev: DevTables, { migration, definition, report }: Undo): Promise<boolean> {
  const back = migration.change && toReverse(migration.change, definition, dev.now());
  if (back === undefined || dev.isForeign(back.table)) return false;
  await dev.apply(back);
  const title = `Undid ${migration.name}, which the project does not have now`;
  for (const line of describe(dev, title)) report(line);
  return true;
}

/** `undefined` if the schema has the new name, or if there is nothing to rename. */
function toReverse(change: Change, definition: Definition, now: Definition): Change | undefined {
  if (!("to" in change)) return undefined;
  const { to } = change;
  const back: Change =
    change.kind === "rename_table"
      ? { ...change, table: to, to: change.table }
      : { ...change, column: to, to: change.column };
  return isRename(back, { before: now, after: definition }) ? back : undefined;
}

/** What was done since the last call; nothing if nothing was. */
export function describe(dev: DevTables, title: string): string[] {
  const { pushed, aside } = dev.takeLines();
  const steps = pushed.flatMap((each) => each.steps);
  const lines = [
    ...new Set([...steps.map((step) => `  + ${step}`), ...aside.map((line) => `  ${line}`)]),
  ];
  return lines.length === 0 ? [] : [title, ...lines];
}

const FILE = ".project.json";

const Stored = v.object({
  /** The last migration of `dev` when the file was written: another database does not have it. */
  at: v.optional(v.string()),
  migrations: v.array(
    v.object({ name: v.string(), checksum: v.string(), change: v.optional(v.unknown()) }),
  ),
});

/** `name`: with its number. */
export type ReplayedMigration = { name: string; checksum: string; change?: Change };

/** `undefined` if nothing is recorded for the database with this history. */
export function readReplayed(
  journal: string,
  history: readonly MigrationRecord[],
): ReplayedMigration[] | undefined {
  const read = v.safeParse(Stored, tryParseJson(readIfThere(join(journal, FILE)) ?? ""));
  if (!read.success) return undefined;
  const { at, migrations } = read.output;
  if (at !== undefined && !history.some(({ checksum }) => checksum === at)) return undefined;
  return migrations.map(({ change, ...migration }) => {
    const asked = change === undefined ? undefined : readChange(change);
    return asked !== undefined && "value" in asked
      ? { ...migration, change: asked.value }
      : migration;
  });
}

export function writeReplayed(
  journal: string,
  at: string | undefined,
  migrations: readonly ReplayedMigration[],
): void {
  const content = { ...nameFormat("dev"), at, migrations };
  writeAtomically(join(journal, FILE), `${JSON.stringify(content, null, 1)}\n`);
}
