/**
 * `bench queries`: pages of 20 rows in the order of each kind of index, lookups by a unique text, counts, groups and related rows
 * (one project for 100 tasks), over 1,000, 100,000 and 1,000,000 rows of an app, beside the statements of PostgREST. Compares them
 * with a list of 20, in CPU time and buffers.
 *
 * @module
 */

import { LIST_BYTES } from "../src/data/mod.ts";
import { planFind } from "../src/data/query/find_plan.ts";
import { planGroups, readGroupQuery } from "../src/data/query/group_query.ts";
import { readListQuery } from "../src/data/query/read_list_query.ts";
import { planWalk } from "../src/data/query/walk.ts";
import { type Database, SERVICE_QUEUE } from "../src/db/mod.ts";
import { defineSchema, t } from "../src/schema/mod.ts";
import { MAX_COUNTED } from "../src/std/limits.ts";
import {
  calledName,
  type EndpointCall,
  isShared,
  printedArguments,
  type RecordedTable,
  toParameters,
} from "../src/tables/catalog/mod.ts";
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
      title: t.string().required().index(),
      tag: t.string().unique(),
      status: t.enum(["open", "doing", "done"]).required(),
      done: t.boolean().required(),
      position: t.number().index(),
      price: t.decimal().index(),
      notes: t.string(),
      due_at: t.timestamp().required(),
      project: t.ref("projects"),
    })
    .index("due_at", "id")
    .index("status", "due_at")
    .index("project", "due_at"),
});
/** The number of rows of each app. Each app is measured separately. */
const SIZES = [1000, 100_000, 1_000_000];
const TASKS_OF_PROJECT = 100;
/** The first calls of a session read the catalogs, and a plan is generic after five. */
const WARM_ROUNDS = 7;
const ONCE = { retry: "unsafe", queue: SERVICE_QUEUE } as const;
const FILL_MS = 3_600_000;

type QuerySize = {
  rows: number;
  comparison: Comparison;
  buffers: Readonly<Record<string, number>>;
};
type QueriesResult = { sizes: QuerySize[] };

export async function benchQueries(options: BenchOptions): Promise<QueriesResult> {
  const pgbench = findPgbench();
  if (pgbench === undefined) throw new Error("Cannot measure queries: pgbench is not installed");
  const database = await makeDatabase();
  try {
    return await withDatabase(database.adminUrl, async (admin) => {
      await fill(admin, listSizes(options));
      const plainUrl = await makePlainLogin(admin, database);
      const [row] = await admin.query<{ pid: number }>("select pg_backend_pid() as pid", [], ONCE);
      const postmaster = parentOf(row?.pid ?? 0);
      const sizes: QuerySize[] = [];
      for (const [index, rows] of listSizes(options).entries()) {
        const made = Object.entries(makeSides({ index, rows }));
        const urlOf = ({ settings }: Side) =>
          settings === undefined ? database.servingUrl : plainUrl;
        const sides = Object.fromEntries(
          made.map(([name, side]) => [
            name,
            () => {
              const [url, script] = [urlOf(side), toScript(side)];
              const plan = { url, script, body: "none", seconds: options.seconds, connections: 1 };
              return runPgbench(pgbench, plan, postmaster);
            },
          ]),
        );
        const { rounds, seconds } = options;
        const asked = { rounds, seconds, connections: 1 };
        const comparison = await compare(`${rows} rows`, sides, asked);
        const buffers: Record<string, number> = {};
        for (const [name, side] of made) buffers[name] = await countBuffers(urlOf(side), side);
        sizes.push({ rows, comparison, buffers });
      }
      return { sizes };
    });
  } finally {
    await database.drop();
  }
}

/** The sizes that `--only` names, or all. */
function listSizes({ only }: BenchOptions): readonly number[] {
  return SIZES.filter((rows) => only.length === 0 || only.includes(String(rows)));
}

async function fill(admin: Database, sizes: readonly number[]): Promise<void> {
  await admin.message(`insert into rowhouse.apps (id, slug)
    select ${appIdSql("n")}, 'bench-' || n from generate_series(1, ${sizes.length}) as n; select 1`);
  for (const index of sizes.keys()) {
    const app = { id: appId(index + 1), slug: `bench-${index + 1}` };
    await pushDefinition(
      { admin, log: () => undefined },
      { app, definition: definitionOf(SCHEMA), options: { dryRun: false } },
    );
  }
  await admin.message(`insert into rowhouse.proofs (app_id, digest, scopes)
    select id, sha256(decode('${Buffer.from(PROOF).toString("hex")}', 'hex')), 3 from rowhouse.apps; select 1`);
  for (const [index, rows] of sizes.entries())
    await admin.message(
      `insert into data.projects (app_id, id, name)
      select ${appIdSql(`${index + 1}`)}, ${rowIdSql(`${index}::bigint * 10000000 + n`)}, 'Project ' || n
      from generate_series(0, ${rows / TASKS_OF_PROJECT}) as n;
      insert into data.tasks (app_id, id, title, tag, status, done, position, price, notes, due_at, project)
      select ${appIdSql(`${index + 1}`)}, ${rowIdSql(`${index}::bigint * 10000000 + n`)}, 'Task ' || n, 'Tag ' || n,
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

/** The statements of one call; with `settings`, they run in a transaction after them, as PostgREST does. */
type Side = { statements: readonly string[]; settings?: string };

function toScript({ statements, settings }: Side): string {
  const lines =
    settings === undefined ? statements : ["begin read only", settings, ...statements, "commit"];
  return lines.map((line) => `${line};\n`).join("");
}

/** The buffers that the statements read, in a session that has read the catalogs. */
async function countBuffers(url: string, { statements, settings }: Side): Promise<number> {
  return await withDatabase(url, async (database) => {
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < WARM_ROUNDS; round++) {
      let sum = 0;
      for (const statement of statements) {
        const explained = `explain (analyze, buffers, format json) ${statement}`;
        const [row] = await database.message<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
          [settings, explained].filter((text) => text !== undefined).join(";\n"),
        );
        const plan = row?.["QUERY PLAN"][0].Plan;
        sum += (plan?.["Shared Hit Blocks"] ?? 0) + (plan?.["Shared Read Blocks"] ?? 0);
      }
      least = Math.min(least, sum);
    }
    return least;
  });
}

/** The statements of each side, for one app. */
function makeSides({
  index,
  rows,
}: {
  index: number;
  rows: number;
}): Readonly<Record<string, Side>> {
  const app = appId(index + 1);
  // As many projects as a page of tasks has.
  const ids = Array.from({ length: 20 }, (_, n) =>
    rowId({ apps: 0, rows: 10_000_000 }, index + 1, n),
  );
  const find = (name: string): RecordedTable | undefined => {
    const definition = definitionOf(SCHEMA).tables.find((other) => other.name === name);
    return definition && { name, definition, whole: definition };
  };
  const tableOf = (name: string) => {
    const found = find(name);
    if (found === undefined) throw new Error(`The schema has no table ${name}`);
    return found;
  };
  const call = (asked: EndpointCall, name = "tasks"): Side => {
    const [ofApp, ofProof, ...others] = printedArguments(asked.endpoint).split(", ");
    const types = [ofApp, ofProof, ...(isShared(asked.endpoint) ? ["text"] : []), ...others];
    const { definition } = tableOf(name);
    const values = toParameters(definition, { app, proof: PROOF }, asked).map(
      (value, position) => `${toSql(value)}::${types[position]}`,
    );
    const called = calledName(definition, asked.endpoint);
    return { statements: [`select ${called}(${values.join(", ")})`] };
  };
  const options = { appId: app, person: undefined };
  const rest = { bytes: LIST_BYTES, known: "" };
  const query = (text: string, name = "tasks", isCounted = false) => {
    const recorded = tableOf(name);
    const read = readListQuery(text, recorded.definition, { appId: app, find });
    const walk = isCounted ? undefined : planWalk(read, recorded, options);
    if (walk !== undefined)
      return call({ endpoint: "walk", values: { ...walk, ...rest, inline: null } }, name);
    const counted = isCounted ? MAX_COUNTED : undefined;
    const { plan, values } = planFind(read, recorded, { ...options, counted });
    return call({ endpoint: "find", values: { plan, values, ...rest } }, name);
  };
  const groups = (text: string) => {
    const recorded = tableOf("tasks");
    const { plan, values } = planGroups(
      readGroupQuery(text, recorded.definition),
      recorded,
      options,
    );
    return call({ endpoint: "find_groups", values: { plan, values, ...rest } });
  };
  const list = (limit: number) =>
    call({ endpoint: "list", values: { limit, offset: 0, ...rest, inline: null } });
  const settings = `select set_config('rowhouse.app_id', '${app}', true)`;
  const plain = (statement: string): Side => ({ statements: [statement], settings });
  const postgrest = (where: string, order = "id", columns = "*", limit = "limit 20") =>
    plain(
      toPostgrestMain(
        `select ${columns} from data.tasks where app_id = '${app}'${where} order by ${order} ${limit}`,
      ),
    );
  const byHand = `select * from data.tasks where app_id = '${app}' order by due_at desc, id desc limit 20`;
  // PostgreSQL 17 and later drop "is not null" of a required column, and use the index only with such a bound.
  const bounded = byHand.replace(" order by", " and due_at >= '-infinity' order by");
  const grouped = (where: string) =>
    plain(
      toPostgrestMain(
        `select status, count(*), sum(price) from data.tasks where app_id = '${app}'${where} group by status`,
      ),
    );
  const middleId = rowId({ apps: 0, rows: 10_000_000 }, index + 1, rows / 2);
  const middle = Buffer.from(
    JSON.stringify(["position.asc,id.asc", String(rows / 2), middleId]),
  ).toString("base64url");
  const [from, to] = ["2026-01-01T00:00:00Z", "2026-01-01T16:39:00Z"];
  const range = `due_at=gte.${from}&due_at=lte.${to}`;
  const within = ` and due_at >= '${from}' and due_at <= '${to}'`;
  return {
    "a list of 20": list(20),
    "a list of 1,000, for the client to filter": list(1000),
    "20 by time": query("order=due_at.desc&limit=20"),
    "20 by time, three columns": query("order=due_at.desc&limit=20&select=id,title,due_at"),
    "20 by time, the statement by hand": plain(bounded),
    "20 by time, PostgREST": plain(toPostgrestMain(byHand)),
    "20 by text": query("order=title&limit=20"),
    "20 by text, PostgREST": postgrest("", "title, id"),
    "20 by number": query("order=position&limit=20"),
    "20 by number, PostgREST": postgrest("", "position, id"),
    "20 by number from the middle, by cursor": query(`order=position&limit=20&after=${middle}`),
    "20 by decimal": query("order=price&limit=20"),
    "20 by decimal, PostgREST": postgrest("", "price, id"),
    "20 of a value of an enum by time": query("status=eq.open&order=due_at.desc&limit=20"),
    "20 of a value of an enum by time, PostgREST": postgrest(
      " and status = 'open'",
      "due_at desc, id desc",
    ),
    "a row by unique text": query("tag=eq.Tag 500"),
    "a row by unique text, PostgREST": postgrest(" and tag = 'Tag 500'"),
    "a text that no row has, without an index": query("title=ilike.*nothing*&limit=20"),
    "1,000 rows of a time counted, a page of 20": query(`${range}&limit=20`, "tasks", true),
    "1,000 rows of a time in groups, summed": groups(`by=status&sum=price&${range}`),
    "1,000 rows of a time in groups, summed, PostgREST": grouped(within),
    ...(rows > MAX_COUNTED
      ? {}
      : {
          "all rows in groups, summed": groups("by=status&sum=price"),
          "all rows in groups, summed, PostgREST": grouped(""),
        }),
    "20 by time with project(id,name)": query(
      "order=due_at.desc&limit=20&select=id,title,project(id,name)",
    ),
    "20 by time with project(id,name) by two requests": {
      statements: [
        query("order=due_at.desc&limit=20&select=id,title,project"),
        query(`id=in.(${ids.join(",")})&select=id,name`, "projects"),
      ].flatMap(({ statements }) => statements),
    },
    "20 by time with project(id,name), PostgREST": plain(
      toPostgrestMain(
        `select t.id, t.title, row_to_json(p.*) as project from data.tasks t left join lateral (select id, name from data.projects where app_id = t.app_id and id = t.project) p on true where t.app_id = '${app}' order by t.due_at desc, t.id desc limit 20`,
      ),
    ),
    "10 projects with tasks(id,title), 10 each": query(
      "select=id,name,tasks(id,title)&tasks.limit=10&tasks.order=due_at.desc&limit=10",
      "projects",
    ),
    "10 projects with tasks(id,title), 10 each, PostgREST": plain(
      toPostgrestMain(
        `select p.id, p.name, coalesce(t.tasks, '[]') as tasks from data.projects p left join lateral (select json_agg(x) as tasks from (select id, title from data.tasks where app_id = p.app_id and project = p.id order by due_at desc limit 10) x) t on true where p.app_id = '${app}' order by p.id limit 10`,
      ),
    ),
  };
}

function toSql(value: ReturnType<typeof toParameters>[number]): string {
  if (value === null || typeof value === "number" || typeof value === "boolean") return `${value}`;
  if (typeof value === "string") return toLiteral(value);
  return `decode('${Buffer.from(value).toString("hex")}', 'hex')`;
}

export function printQueries({ sizes }: QueriesResult): string {
  const head = ["rows of the app", "", "calls/s", "database CPU ms", "÷ a list of 20", "buffers"];
  const rows = sizes.flatMap(({ rows: count, comparison: { sides }, buffers }) => {
    const list = sides["a list of 20"]?.databaseCpu;
    return Object.entries(sides).map(([side, { perSecond, databaseCpu }]) => [
      show(count),
      side,
      show(perSecond),
      show(databaseCpu, 2),
      times(databaseCpu === undefined || list === undefined ? undefined : databaseCpu / list),
      show(buffers[side]),
    ]);
  });
  return table(head, rows);
}
