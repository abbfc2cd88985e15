/**
 * `bench people`: gets, lists, queries and writes by an API key and by people under rules: every row, own rows, own rows or those of
 * three teams. All callers take turns in one run, on one table of 100,000 and 1,000,000 rows; compare the CPU times of a table.
 *
 * @module
 */

import { type Database, SERVICE_QUEUE } from "../src/db/mod.ts";
import { issueKey, setAppSwitch } from "../src/records/apps/mod.ts";
import { defineSchema, t } from "../src/schema/mod.ts";
import { makeDatabase, withDatabase } from "../test/support/cluster.ts";
import { testDeps } from "../test/support/deps.ts";
import { mintPersonKey } from "../test/support/minted_key.ts";
import { pushDefinition } from "../test/support/push_steps.ts";
import { definitionOf } from "../test/support/service.ts";
import { type Comparison, compare, compareCpu, printComparison } from "./compare.ts";
import { parentOf } from "./cpu.ts";
import { prepareLoad, type Run } from "./load.ts";
import type { LoadRequest } from "./load_process.ts";
import { appId, appIdSql, rowId, rowIdSql } from "./names.ts";
import type { BenchOptions } from "./options.ts";
import { table, times } from "./print.ts";
import { startServer } from "./servers.ts";

const PREVIEWS = ["filters", "browser"] as const;
const SCHEMA = defineSchema({
  teams: t.model({ name: t.string() }).allow("team", { read: true }),
  team_members: t
    .model({ person: t.uuid().required(), team: t.ref("teams").required() })
    .index("person", "team"),
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "done"]).required().default("open"),
      notes: t.string(),
      owner: t.uuid().required().owner(),
      team: t.ref("teams"),
      noted_at: t.timestamp().required().default("now"),
    })
    .index("owner", "id")
    .index("team", "id")
    .index("noted_at", "id")
    .index("owner", "noted_at")
    .allow("every", { read: true, create: true, update: true })
    .allow("own", { read: { owner: "me" }, create: true, update: { owner: "me" } })
    .allow("team", {
      read: [{ owner: "me" }, { team: { memberOf: "team_members" } }],
      create: true,
      update: { owner: "me" },
    }),
});
const SIZES = [100_000, 1_000_000];
/** Rows of each person, who own them in turn; teams that have every tenth row in turn. */
const OWN_ROWS = 1000;
const TEAMS = 100;
const ONCE = { retry: "unsafe", queue: SERVICE_QUEUE } as const;
const FILL_MS = 3_600_000;
const FIRST_PERSON = 3_000_000_000;
const TODOS = "/v1/data/db/todos";
const API_KEY = "an API key";
/** The role, and the person by number. */
const CALLERS = {
  "a person, every row": { role: "every", person: 1 },
  "a person, own rows": { role: "own", person: 2 },
  "a person, own or teams' rows": { role: "team", person: 3 },
} as const;

/** What the CPU time of people may be, as a multiple of an API key's. */
const TARGETS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  "get one row": Object.fromEntries(Object.keys(CALLERS).map((caller) => [caller, 1.2])),
  "list 20 rows": { "a person, own rows": 1.2, "a person, own or teams' rows": 2 },
  "list 100 rows": { "a person, own or teams' rows": 2.5 },
};

type PeopleSize = { rows: number; requests: Readonly<Record<string, Comparison>> };
export type PeopleResult = { sizes: PeopleSize[] };

export async function benchPeople(options: BenchOptions): Promise<PeopleResult> {
  const wanted = options.only.map(Number);
  const listed = SIZES.filter((rows) => wanted.length === 0 || wanted.includes(rows));
  const sizes: PeopleSize[] = [];
  for (const rows of listed) sizes.push({ rows, requests: await benchSize(rows, options) });
  return { sizes };
}

async function benchSize(rows: number, options: BenchOptions): Promise<PeopleSize["requests"]> {
  const database = await makeDatabase();
  try {
    return await withDatabase(database.adminUrl, async (admin) => {
      const callers = await fill(admin, rows);
      const [row] = await admin.query<{ version: string; pid: number }>(
        "select current_setting('server_version') as version, pg_backend_pid() as pid",
        [],
        ONCE,
      );
      const { version = "", pid = 0 } = row ?? {};
      const stage = {
        ...{ database, plainUrl: "", size: { apps: 1, rows }, apps: [], version },
        postmaster: parentOf(pid),
      };
      const env = { BENCH_PREVIEWS: PREVIEWS.join(",") };
      await using server = await startServer("service", stage, options, { env });
      const requests: Record<string, Comparison> = {};
      for (const [title, request] of Object.entries(REQUESTS)) {
        const runs: Record<string, () => Promise<Run>> = {};
        for (const [name, caller] of Object.entries(callers)) {
          const load = { status: request.status, requests: toRequests(caller, request.make) };
          runs[name] = await prepareLoad({ stage, server }, load, options);
        }
        const found = await compare(`${rows} rows: ${title}`, runs, options);
        requests[title] = found;
        process.stderr.write(`${printRequest(title, found)}\n\n`);
      }
      return requests;
    });
  } finally {
    await database.drop();
  }
}

type Caller = { readonly key: string; readonly ids: readonly string[]; readonly owner: string };
type Request = {
  readonly status: number;
  readonly make: (caller: Caller, n: number) => Omit<LoadRequest, "headers">;
};

const REQUESTS: Readonly<Record<string, Request>> = {
  "get one row": { status: 200, make: (caller, n) => ({ method: "GET", path: idOf(caller, n) }) },
  "list 20 rows": { status: 200, make: () => ({ method: "GET", path: "?limit=20" }) },
  // The same rows as those that a person of the role "own" lists without a condition.
  "list 20 rows of an owner": {
    status: 200,
    make: ({ owner }) => ({ method: "GET", path: `?owner=eq.${owner}&limit=20` }),
  },
  "list 100 rows": { status: 200, make: () => ({ method: "GET", path: "?limit=100" }) },
  "query 20 rows": {
    status: 200,
    make: () => ({ method: "GET", path: "?status=eq.open&order=noted_at.desc&limit=20" }),
  },
  "update a row": {
    status: 200,
    make: (caller, n) => ({
      ...{ method: "PATCH", path: idOf(caller, n) },
      body: JSON.stringify({ title: `Changed ${n}` }),
    }),
  },
  "create a row": {
    status: 201,
    make: ({ owner }, n) => ({
      ...{ method: "POST", path: "" },
      body: JSON.stringify({ title: `New ${n}`, owner }),
    }),
  },
};
const DIFFERENT = 1000;

function idOf({ ids }: Caller, n: number): string {
  return `/${ids[n % ids.length]}`;
}

function toRequests(caller: Caller, make: Request["make"]): LoadRequest[] {
  return Array.from({ length: DIFFERENT }, (_, n) => {
    const { path, ...request } = make(caller, n);
    const json = request.body === undefined ? {} : { "content-type": "application/json" };
    const headers = { authorization: `Bearer ${caller.key}`, ...json };
    return { ...request, path: TODOS + path, headers };
  });
}

// The database, and a key of each caller.

async function fill(admin: Database, rows: number): Promise<Readonly<Record<string, Caller>>> {
  const app = { id: appId(1), slug: "bench-1" };
  await admin.message(
    `insert into rowhouse.apps (id, slug) select ${appIdSql("1")}, 'bench-1'; select 1`,
  );
  await setAppSwitch({ admin }, app.slug, ["browser", true]);
  await pushDefinition(
    { admin, log: () => undefined },
    { app, definition: definitionOf(SCHEMA), options: { dryRun: false } },
  );
  const people = rows / OWN_ROWS;
  const person = (n: string) => rowIdSql(`${FIRST_PERSON} + 1 + ${n} % ${people}`);
  const team = (n: string) => rowIdSql(`2000000000 + ${n} % ${TEAMS}`);
  await admin.message(
    `insert into data.teams (app_id, id, name)
      select ${appIdSql("1")}, ${team("n")}, 'Team ' || n from generate_series(0, ${TEAMS - 1}) as n;
    insert into data.team_members (app_id, id, person, team)
      select ${appIdSql("1")}, ${rowIdSql("2500000000 + n")}, ${person("n / 3")}, ${team("n")}
      from generate_series(0, ${people * 3 - 1}) as n;
    insert into data.todos (app_id, id, title, status, notes, owner, team, noted_at)
      select ${appIdSql("1")}, ${rowIdSql("n::bigint")}, 'Todo ' || n,
        (array['open', 'done'])[1 + (n / 7) % 2]::data.todos__status__enum,
        'Two coats, and mind the roses along the southern side of house ' || n, ${person("n")},
        case when n % 10 = 0 then ${team("(n / 10)")} end, timestamptz '2026-01-01' + n * interval '1 minute'
      from generate_series(1, ${rows}) as n; select 1`,
    { timeoutMs: FILL_MS },
  );
  for (const name of ["teams", "team_members", "todos"])
    await admin.query(`vacuum (analyze) data.${name}`, [], ONCE);
  await admin.query("checkpoint", [], ONCE);
  const { text: key } = await issueKey(testDeps({ admin }), {
    ...{ slug: app.slug, name: "bench", scopes: ["data:read", "data:write"] },
    expiresAt: undefined,
  });
  const callers: Record<string, Caller> = { [API_KEY]: await toCaller(admin, key, 2) };
  for (const [name, { role, person: number }] of Object.entries(CALLERS))
    callers[name] = await toCaller(admin, await mint(admin, role, number), number);
  return callers;
}

function mint(admin: Database, role: string, number: number): Promise<string> {
  const person = rowId({ apps: 1, rows: 0 }, 1, FIRST_PERSON + number);
  return mintPersonKey(admin, { app: appId(1), person, role });
}

async function toCaller(admin: Database, key: string, number: number): Promise<Caller> {
  const rows = await admin.query<{ id: string; owner: string }>(
    `select id, owner from data.todos where owner = ${rowIdSql(`${FIRST_PERSON} + ${number}`)}
      order by id limit ${DIFFERENT}`,
    [],
    ONCE,
  );
  return { key, ids: rows.map(({ id }) => id), owner: rows[0]?.owner ?? "" };
}

export function printPeople({ sizes }: PeopleResult): string {
  return sizes
    .flatMap(({ rows, requests }) => [
      `${rows.toLocaleString("en")} rows.`,
      ...Object.entries(requests).map(([title, found]) => printRequest(title, found)),
      printTargets(requests),
    ])
    .join("\n\n");
}

function printRequest(title: string, found: Comparison): string {
  return printComparison(`${title} by`, found);
}

/** Renders the CPU time of people divided by an API key's, with its limit. */
function printTargets(requests: PeopleSize["requests"]): string {
  const names = Object.keys(CALLERS);
  const rows = Object.entries(requests).map(([title, { sides }]) => [
    title,
    ...names.map((name) => {
      const found = times(compareCpu(sides, name, API_KEY));
      const limit = TARGETS[title]?.[name];
      return limit === undefined ? found : `${found} (≤ ${limit})`;
    }),
  ]);
  return table(["CPU ÷ an API key's", ...names], rows);
}
