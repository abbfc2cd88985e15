/**
 * Files that are too long for one transaction: an index that is built while the service writes, and a change of many rows
 * in batches. Each can be interrupted at any time and is completed by the next run; its number is recorded at the end.
 *
 * @module
 */
import { showCount } from "../../std/count.ts";
import { splitStatements } from "../code/statements.ts";
import { type Database, readRows } from "../pool/mod.ts";
import { readSqlState } from "../sqlstate.ts";
import { type Report, renderStart, send } from "./message.ts";
import type { ServiceMigration } from "./mod.ts";

/** How a file runs, from its line `-- runs: …`; by default in one transaction. */
export type Run = "in one transaction" | "concurrently" | "in batches";

const LINE = /^-- runs: (.*)$/m;
const INDEX = /^create (?:unique )?index concurrently (\w+) on rowhouse\.(\w+)\b/;
const BATCH = /^(?:update|delete from) rowhouse\.(\w+)\b[\s\S]*\blimit \d+/;
const FORMS = {
  concurrently: { form: INDEX, wants: "create index concurrently <name> on rowhouse.<table> …" },
  "in batches": { form: BATCH, wants: "an update or delete of rows that a query with limit finds" },
} as const;

/** How a file runs. @throws {Error} its line names no way to run, or its statement cannot run that way */
export function readRun({ name, sql }: Pick<ServiceMigration, "name" | "sql">): Run {
  const [, text] = LINE.exec(sql) ?? [];
  if (text === undefined) return "in one transaction";
  const { form, wants } = FORMS[text as keyof typeof FORMS] ?? {};
  const statements = splitStatements(sql);
  if (form === undefined) throw new Error(`${name}.sql cannot run "${text}"`);
  if (statements.length !== 1 || !form.test(statements[0] ?? ""))
    throw new Error(`${name}.sql runs ${text}: it must be one statement, ${wants}`);
  return text as Run;
}

/** A build lasts as long as its table is large. */
const BUILD = { timeoutMs: 12 * 60 * 60 * 1000, queue: "long steps" };
const REPORT_MS = 5000;

/** Two processes have started the same build: one of them waits for the other, or finds its index. */
const COLLISIONS = new Set(["40P01", "42P07", "42704"]);
const ATTEMPTS = 8;

export async function runLongStep(
  admin: Database,
  migration: ServiceMigration,
  report: Report,
): Promise<void> {
  const [statement = ""] = splitStatements(migration.sql);
  if (readRun(migration) === "concurrently") {
    await buildIndex(admin, { migration, statement, report });
  } else await changeRows(admin, { migration, statement, report });
}

type Step = { migration: ServiceMigration; statement: string; report: Report };

/** An interrupted build leaves an invalid index, which slows writes and serves no query: it is dropped. */
async function buildIndex(admin: Database, { migration, statement, report }: Step): Promise<void> {
  const [, index = ""] = INDEX.exec(statement) ?? [];
  let [waits, collisions] = [0, 0];
  for (;;) {
    const found = await findIndex(admin, index);
    if (found?.isValid === true) return;
    if (found?.isBuilding === true) {
      if (waits++ === 0) report(`${migration.name}: another process is building the index`);
      await Bun.sleep(1000);
      continue;
    }
    try {
      if (found !== undefined)
        await admin.message(`drop index concurrently rowhouse.${index}`, BUILD);
      await withProgress(admin, { name: migration.name, index, report }, () =>
        admin.message(statement, BUILD),
      );
    } catch (error) {
      collisions += 1;
      if (collisions === ATTEMPTS || !COLLISIONS.has(readSqlState(error) ?? "")) throw error;
      await Bun.sleep(1000 * Math.random());
    }
  }
}

type FoundIndex = { isValid: boolean; isBuilding: boolean };

async function findIndex(admin: Database, index: string): Promise<FoundIndex | undefined> {
  const [found] = await readRows<FoundIndex>(
    admin,
    `select indisvalid as "isValid", exists (
        select from pg_catalog.pg_stat_progress_create_index as running
        where running.index_relid = pg_index.indexrelid) as "isBuilding"
      from pg_catalog.pg_index where indexrelid = pg_catalog.to_regclass($1::pg_catalog.text)`,
    [`rowhouse.${index}`],
  );
  return found;
}

async function withProgress(
  admin: Database,
  { name, index, report }: { name: string; index: string; report: Report },
  build: () => Promise<unknown>,
): Promise<void> {
  const show = async () => {
    const [found] = await readRows<{ phase: string; percent: number }>(
      admin,
      `select phase, coalesce(100 * blocks_done / nullif(blocks_total, 0), 0)::pg_catalog.int4 as percent
        from pg_catalog.pg_stat_progress_create_index
        where index_relid = pg_catalog.to_regclass($1::pg_catalog.text)`,
      [`rowhouse.${index}`],
    );
    if (found !== undefined) report(`${name}: ${found.phase}, ${found.percent} %`);
  };
  // A failed read of the progress must not end the build.
  const timer = setInterval(() => void show().catch(() => undefined), REPORT_MS);
  try {
    await build();
  } finally {
    clearInterval(timer);
  }
}

/** Repeats the statement until it finds no more rows. */
async function changeRows(admin: Database, { migration, statement, report }: Step): Promise<void> {
  const text = `${renderStart(
    "service_migrations",
    `exists (select from rowhouse.service_migrations where number = ${migration.number})`,
  )}
set local role rowhouse_owner;
with changed as (${statement} returning 1)
select pg_catalog.count(*)::pg_catalog.int4 as count from changed`;
  let total = 0;
  let reportedAt = performance.now();
  for (;;) {
    const [row] = (await send<{ count: number }>(admin, text, report)) ?? [];
    if (row === undefined || row.count === 0) return;
    total += row.count;
    if (performance.now() - reportedAt < REPORT_MS) continue;
    reportedAt = performance.now();
    report(`${migration.name}: ${showCount(total, "row")}`);
  }
}
