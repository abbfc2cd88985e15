/**
 * `bench queries`: a page of 20 rows in the order of an index, over 1,000, 100,000 and 1,000,000 rows of an app. Compares it
 * with a list of 20, a list of 1,000 that a client filters, a handwritten statement, and the statements of PostgREST. Also lists with
 * related rows, one project for 100 tasks.
 *
 * @module
 */

import { LIST_BYTES, MAX_VISITS, MAX_WORK } from "../src/data/mod.ts";
import { readListQuery } from "../src/data/query/list_query.ts";
import { planQuery } from "../src/data/query/plan.ts";
import { type Database, recordPreviews, SERVICE_QUEUE } from "../src/db/mod.ts";
import { defineSchema, t } from "../src/schema/mod.ts";
import { type Endpoint, functionName, type RecordedTable } from "../src/tables/catalog/mod.ts";
import { makeDatabase, withDatabase } from "../test/support/cluster.ts";
import { pushDefinition } from "../test/support/push_steps.ts";
import { definitionOf } from "../test/support/service.ts";
import { type Comparison, compare } from "./compare.ts";
import { parentOf } from "./cpu.ts";
import { appId, appIdSql, rowId, rowIdSql } from "./names.ts";
import type { BenchOptions } from "./options.ts";
import { findPgbench, runPgbench } from "./pgbench.ts";
import { show, table, times } from "./print.ts";
import { toPostgrestMain } from "./scenarios.ts";
import { makePlainLogin, PROOF } from "./stage.ts";

const SCHEMA = defineSchema({
  projects: { name: t.string().required() },
  tasks: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "doing", "done"]).required(),
      done: t.boolean().required(),
      position: t.number(),
      price: t.decimal(),
      notes: t.string(),
      due_at: t.timestamp().required(),
      project: t.ref("projects"),
    })
    .index("due_at", "id")
    .index("project", "due_at"),
});
/** The number of rows of each app. Each app is measured separately. */
const SIZES = [1000, 100_000, 1_000_000];
const TASKS_OF_PROJECT = 100;
const ONCE = { retry: "unsafe", queue: SERVICE_QUEUE } as const;
const FILL_MS = 3_600_000;

type QuerySize = { rows: number; comparison: Comparison };
type QueriesResult = { sizes: QuerySize[] };

export async function benchQueries(options: BenchOptions): Promise<QueriesResult> {
  const pgbench = findPgbench();
  if (pgbench === undefined) throw new Error("Cannot measure queries: pgbench is not installed");
  const database = await makeDatabase();
  try {
    return await withDatabase(database.adminUrl, async (admin) => {
      await fill(admin);
      const plainUrl = await makePlainLogin(admin, database);
      const [row] = await admin.query<{ pid: number }>("select pg_backend_pid() as pid", [], ONCE);
      const postmaster = parentOf(row?.pid ?? 0);
      const sizes: QuerySize[] = [];
      for (const [index, rows] of SIZES.entries()) {
        const scripts = makeScripts(index);
        const sides = Object.fromEntries(
          Object.entries(scripts).map(([side, { script, isPlain }]) => [
            side,
            () => {
              const url = isPlain ? plainUrl : database.servingUrl;
              const plan = { url, script, body: "none", seconds: options.seconds, connections: 1 };
              return runPgbench(pgbench, plan, postmaster);
            },
          ]),
        );
        const { rounds, seconds } = options;
        const asked = { rounds, seconds, connections: 1 };
        sizes.push({ rows, comparison: await compare(`${rows} rows`, sides, asked) });
      }
      return { sizes };
    });
  } finally {
    await database.drop();
  }
}

async function fill(admin: Database): Promise<void> {
  await recordPreviews(admin, ["filters"]);
  await admin.message(`insert into rowhouse.apps (id, slug)
    select ${appIdSql("n")}, 'bench-' || n from generate_series(1, ${SIZES.length}) as n; select 1`);
  for (const index of SIZES.keys()) {
    const app = { id: appId(index + 1), slug: `bench-${index + 1}` };
    await pushDefinition(
      { admin, log: () => undefined },
      { app, definition: definitionOf(SCHEMA), options: { dryRun: false } },
    );
  }
  await admin.message(`insert into rowhouse.proofs (app_id, digest, scopes)
    select id, sha256(decode('${Buffer.from(PROOF).toString("hex")}', 'hex')), 3 from rowhouse.apps; select 1`);
  for (const [index, rows] of SIZES.entries())
    await admin.message(
      `insert into data.projects (app_id, id, name)
      select ${appIdSql(`${index + 1}`)}, ${rowIdSql(`${index}::bigint * 10000000 + n`)}, 'Project ' || n
      from generate_series(0, ${rows / TASKS_OF_PROJECT}) as n;
      insert into data.tasks (app_id, id, title, status, done, position, price, notes, due_at, project)
      select ${appIdSql(`${index + 1}`)}, ${rowIdSql(`${index}::bigint * 10000000 + n`)}, 'Task ' || n,
        (array['open', 'doing', 'done'])[1 + n % 3]::data.tasks__status__enum, n % 3 = 2, n, n * 0.25,
        'Two coats, and mind the roses along the southern side of house ' || n,
        timestamptz '2026-01-01' + ((n::bigint * 7919) % ${rows})::integer * interval '1 minute',
        ${rowIdSql(`${index}::bigint * 10000000 + n / ${TASKS_OF_PROJECT}`)}
      from generate_series(1, ${rows}) as n; select 1`,
      { timeoutMs: FILL_MS },
    );
  await admin.query("vacuum (analyze) data.tasks, data.projects", [], ONCE);
  await admin.query("checkpoint", [], ONCE);
}

/** Encodes a text, because a colon would begin a variable of pgbench. */
function toLiteral(text: string): string {
  return `convert_from(decode('${Buffer.from(text).toString("hex")}', 'hex'), 'UTF8')`;
}

type Side = { script: string; isPlain?: true };

/** Renders pgbench's script of each side, for one app. */
function makeScripts(index: number): Readonly<Record<string, Side>> {
  const app = appId(index + 1);
  // As many projects as a page of tasks has.
  const ids = Array.from({ length: 20 }, (_, n) =>
    rowId({ apps: 0, rows: 10_000_000 }, index + 1, n),
  );
  const find = (name: string): RecordedTable | undefined => {
    const definition = definitionOf(SCHEMA).tables.find((other) => other.name === name);
    return definition && { name, definition, whole: definition };
  };
  const call = (endpoint: Endpoint, values: string, table = "tasks") => ({
    script: `select api."${functionName(find(table)?.definition ?? { name: table, columns: [] }, endpoint)}"('${app}', decode('${Buffer.from(PROOF).toString("hex")}', 'hex'), ${values});\n`,
  });
  const query = (text: string, table = "tasks") => {
    const recorded = find(table);
    if (recorded === undefined) throw new Error(`The schema has no table ${table}`);
    const options = {
      ...{ appId: app, missing: new Set<string>(), isCounted: false },
      ...{ visits: MAX_VISITS, work: MAX_WORK },
    };
    const { plan, values } = planQuery(
      readListQuery(text, recorded.definition, { appId: app, find }),
      recorded,
      options,
    );
    return call(
      "query",
      `${toLiteral(plan)}, array[${values.map(toLiteral).join(", ")}], ${LIST_BYTES}, ''`,
      table,
    );
  };
  const byHand = `select * from data.tasks where app_id = '${app}' order by due_at desc, id desc limit 20`;
  // PostgreSQL 17 and later drop "is not null" of a required column, and use the index only with such a bound.
  const bounded = byHand.replace(" order by", " and due_at >= '-infinity' order by");
  const settings = `select set_config('rowhouse.app_id', '${app}', true)`;
  return {
    "a query of 20 by index": query("order=due_at.desc&limit=20"),
    "a query of 20, three columns": query("order=due_at.desc&limit=20&select=id,title,due_at"),
    "a query of 10,000 visits": query("title=ilike.*nothing*&limit=20"),
    "a query of 20 with project(id,name)": query(
      "order=due_at.desc&limit=20&select=id,title,project(id,name)",
    ),
    "two requests: the query, and id=in.(…)": {
      script: [
        query("order=due_at.desc&limit=20&select=id,title,project").script,
        query(`id=in.(${ids.join(",")})&select=id,name`, "projects").script,
      ].join(""),
    },
    "10 projects with tasks(id,title), 10 each": query(
      "select=id,name,tasks(id,title)&tasks.limit=10&tasks.order=due_at.desc&limit=10",
      "projects",
    ),
    "a list of 20": call("list", `20, 0, ${LIST_BYTES}, null, null`),
    "a list of 1,000, for the client to filter": call("list", `1000, 0, ${LIST_BYTES}, null, null`),
    "the statement by hand": {
      script: `begin;\n${settings};\n${bounded};\ncommit;\n`,
      isPlain: true,
    },
    "the statements of PostgREST": {
      script: `begin read only;\n${settings};\n${toPostgrestMain(byHand)};\ncommit;\n`,
      isPlain: true,
    },
  };
}

export function printQueries({ sizes }: QueriesResult): string {
  const head = ["rows of the app", "", "calls/s", "database CPU ms", "÷ a list of 20"];
  const rows = sizes.flatMap(({ rows: count, comparison: { sides } }) => {
    const list = sides["a list of 20"]?.databaseCpu;
    return Object.entries(sides).map(([side, { perSecond, databaseCpu }]) => [
      show(count),
      side,
      show(perSecond),
      show(databaseCpu, 2),
      times(databaseCpu === undefined || list === undefined ? undefined : databaseCpu / list),
    ]);
  });
  return table(head, rows);
}
