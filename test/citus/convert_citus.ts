/** `admin convert-to-citus` on a database with rows, under reads and writes: rejections, failures, and the converted database. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { askNodes, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { addWorkers, citusUrl, dropOnNodes } from "../support/citus.ts";
import { clusterUrls, withDatabase, withRoot } from "../support/cluster.ts";
import { makeProject, type Outcome, runCommand, startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

/** A parent, a child, a table that references itself, and two tables that reference each other. */
const TABLES = {
  notes: t.model({ text: t.string(), todo: t.ref("todos", { onDelete: "cascade" }) }),
  projects: t.model({
    name: t.string().required().unique(),
    kind: t.enum(["plan", "work"]).required().default("plan"),
    parent: t.ref("projects"),
  }),
  todos: t.model({
    title: t.string().required(),
    project: t.ref("projects", { onDelete: "cascade" }).required(),
    note: t.ref("notes"),
  }),
};
/** Pushed during the conversion. */
const PUSHED = { pushed: t.model({ label: t.string(), note: t.ref("notes") }) };
const ROWS = 10;
const EXPECTED_OUTPUT =
  /distributed table todos \(3 of 3\)\n.*counted all rows again.*\nnotes: \d+ rows of 2 apps\nprojects: 20 rows of 2 apps\nrowhouse.idempotency_keys: 20 rows of 2 apps\nrowhouse.proofs: 2 rows of 2 apps\ntodos: 20 rows of 2 apps\n/s;

let service: TestService;
let apps: TestApp[];
const firsts: string[] = [];
const project = makeProject();
beforeAll(async () => {
  const urls = clusterUrls();
  if (urls === undefined)
    throw new Error("Run by bun run test:citus, which states its requirements");
  service = await openTestService({ cluster: { ...urls, isPlain: true } });
  apps = [await service.makeApp(defineSchema(TABLES)), await service.makeApp(defineSchema(TABLES))];
  for (const app of apps) firsts.push(await fill(app));
  // A cluster has no live updates: its tables lose what listens to them.
  const live = await runCommand(["admin", "set-app", apps[0]?.slug ?? "", "live", "on"], {
    ...project,
    env: env(),
  });
  expect(live).toMatchObject({ code: 0 });
  await addWorkers(citusUrl() ?? "", service.database.name, withRoot);
});
afterAll(async () => {
  project.remove();
  await service.close();
  await dropOnNodes(citusUrl() ?? "", service.database.name, withRoot);
});

async function create(app: TestApp, table: string, json: unknown, key?: string): Promise<string> {
  const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
  const created = await service.call(app, `/v1/data/db/${table}`, {
    method: "POST",
    json,
    headers,
  });
  if (created.status !== 201) throw new Error(created.text);
  return (created.json as { id: string }).id;
}

/** Creates the app's rows and returns the first project's id. */
async function fill(app: TestApp): Promise<string> {
  let parent: string | null = null;
  let firstId = "";
  for (let number = 0; number < ROWS; number++) {
    parent = await create(app, "projects", { name: `p ${number}`, parent }, `key ${number}`);
    const todo = await create(app, "todos", { title: `t ${number}`, project: parent });
    const note = await create(app, "notes", { text: "$rowhouse$", todo });
    await service.call(app, `/v1/data/db/todos/${todo}`, { method: "PATCH", json: { note } });
    firstId ||= parent;
  }
  await create(app, "notes", { text: "not referenced" });
  return firstId;
}

const env = () => ({ ADMIN_DATABASE_URL: service.database.adminUrl });
const toArguments = (...flags: string[]) => [
  "admin",
  "convert-to-citus",
  "--shards",
  "4",
  ...flags,
];
const convert = (...flags: string[]): Promise<Outcome> =>
  runCommand(toArguments(...flags), { ...project, env: env() });

async function ask<Row>(text: string): Promise<Row[]> {
  return await service.service.admin.query<Row>(text, [], { retry: "safe", queue: SERVICE_QUEUE });
}

const isDistributed = async () =>
  (await ask<{ found: boolean }>("select to_regclass('rowhouse.shards') is not null as found"))[0]
    ?.found;

/** Reads all tables as an app. */
async function readAll(app: TestApp): Promise<unknown[]> {
  const pages = Object.keys(TABLES).map((table) =>
    service.call(app, `/v1/data/db/${table}?limit=1000`),
  );
  return (await Promise.all(pages)).map(({ json }) => json);
}

test("all issues of nodes and tables are reported together, and no data changes", async () => {
  const breakSql = `create index spied on data.todos (title); create index spy on data.notes (text);
    update pg_dist_node set isactive = false where groupid = 1; select 1`;
  const repairSql = `drop index data.spied, data.spy;
    update pg_dist_node set isactive = true where groupid = 1; select 1`;
  await service.service.admin.message(breakSql);
  const { code, out, err } = await convert("--yes");
  await service.service.admin.message(repairSql);
  expect([code, out]).toEqual([1, ""]);
  expect(err.trim().split("\n")).toEqual([
    "Cannot distribute this database:",
    expect.stringMatching(/^ {2}Node \S+ is not active: run select citus_activate_node/),
    "  Drift of table notes / index spy: expected nothing, found btree (text)",
    "  Drift of table todos / index spied: expected nothing, found btree (title)",
  ]);
  expect(await isDistributed()).toBe(false);
});

test("convert prints the steps and changes nothing without --yes", async () => {
  const { code, err } = await convert();
  expect(code).toBe(1);
  expect(err).toMatch(/1 process used a moment ago.* 3 tables, in 4 shards.*add --yes\n$/s);
  expect(await isDistributed()).toBe(false);
});

/** Failures of a node when a shard of notes is created on it. */
const FAILURES = [
  {
    name: "a node that rejects a table",
    action: "raise exception 'not here' using errcode = 'P0001'",
    message: "with SQLSTATE P0001: see the log of the coordinator. Nothing was changed",
  },
  {
    name: "a node that loses rows",
    action:
      "execute format('create trigger lose after insert on %s for each row execute function public.lose()', shard)",
    message: "The row counts of the nodes do not match. Nothing was changed",
  },
];

test.each(FAILURES)("$name leaves the database unchanged", async ({ action, message }) => {
  const before = await Promise.all(apps.map(readAll));
  await onWorkers(`create function public.lose() returns trigger language plpgsql
    set citus.enable_manual_changes_to_shards = on as $$ begin
      execute format('delete from %s where text = %L', tg_relid::regclass, 'not referenced');
      return null;
    end $$;
    create function public.fail() returns event_trigger language plpgsql as $$ declare shard text; begin
      for shard in select object_identity from pg_event_trigger_ddl_commands()
        where object_identity ~ '^data.notes_[0-9]+$' and command_tag = 'CREATE TABLE' loop
        ${action};
      end loop;
    end $$;
    create event trigger fail on ddl_command_end execute function public.fail()`);
  const { code, out, err } = await convert("--yes");
  await onWorkers("drop event trigger fail; drop function public.fail(), public.lose()");
  expect([code, out]).toEqual([1, ""]);
  expect(err).toContain("distributed table projects (1 of 3)\n");
  expect(err).toContain(message);
  expect(await isDistributed()).toBe(false);
  expect(await Promise.all(apps.map(readAll))).toEqual(before);
  expect(await readDrift(service.service.admin)).toEqual([]);
});

/** Runs statements on every worker, without propagation to other nodes. */
async function onWorkers(statements: string): Promise<void> {
  const nodes = await ask<{ host: string; port: number }>(
    "select nodename as host, nodeport as port from pg_dist_node where groupid <> 0",
  );
  for (const { host, port } of nodes) {
    const url = new URL(service.database.adminUrl);
    [url.hostname, url.port] = [host, String(port)];
    await withDatabase(url.href, (admin) =>
      admin.message(`set local citus.enable_ddl_propagation = 'off'; ${statements}; select 1`),
    );
  }
}

test("a conversion under reads and writes loses, duplicates and leaks no row", async () => {
  const before = await Promise.all(apps.map(readAll));
  const ends = new Set<string>();
  const record = (end: string, text: string) =>
    ends.add([end, ...(/"error":"(\w+)"/.exec(text)?.slice(1) ?? [])].join(" "));
  const written: string[] = [];
  let isRunning = true;
  const [app, other] = apps as [TestApp, TestApp];
  const write = async (writer: number) => {
    for (let number = 0; isRunning; number++) {
      const json = { text: `${writer} ${number}` };
      const { status, text } = await service.call(app, "/v1/data/db/notes", {
        method: "POST",
        json,
      });
      if (status === 201) written.push(json.text);
      record(`create ${status}`, text);
      await Bun.sleep(20);
    }
  };
  const read = async () => {
    while (isRunning) {
      const { status, text } = await service.call(other, "/v1/data/db/todos?limit=1000");
      record(`list ${status}`, text);
    }
  };
  const work = [write(1), write(2), read(), read()];
  const running = startCommand(toArguments("--yes"), { ...project, env: env() });
  await running.until(/locked all tables/);
  const pushed = service.pushSchema(other, defineSchema({ ...TABLES, ...PUSHED }));
  expect([await running.ended, running.output()]).toEqual([
    0,
    expect.stringMatching(EXPECTED_OUTPUT),
  ]);
  await pushed;
  // Waits until the nodes have served every caller.
  const writtenBefore = written.length;
  await eventually(() => written.length > writtenBefore + 4);
  isRunning = false;
  await Promise.all(work);

  // Processes check once per second whether the database is distributed. Until then, they read in the old way.
  const known = ["create 201", "list 200", "list 503 unavailable"];
  expect([...ends].filter((end) => !known.includes(end))).toEqual([]);
  const [[notes, ...mine], theirs] = (await Promise.all(apps.map(readAll))) as [
    unknown[],
    unknown[],
  ];
  expect([mine, theirs]).toEqual([before[0]?.slice(1) ?? [], before[1] ?? []]);
  const texts = (notes as { rows: { text: string }[] }).rows.map(({ text }) => text);
  expect(texts.filter((text) => /^\d/.test(text)).sort()).toEqual(written.sort());
});

test("the coordinator has no row, every node has its settings, and the audit log has an entry", async () => {
  const local = await ask<{ name: string }>(
    `select oid::regclass::text as name from pg_class where relkind = 'r' and pg_relation_size(oid) > 0
      and (relnamespace = 'data'::regnamespace or oid in ('rowhouse.proofs'::regclass, 'rowhouse.idempotency_keys'::regclass))`,
  );
  expect(local).toEqual([]);
  expect(await makeIsolationCheck(service.service.db)()).toMatchObject({
    issues: [],
    ofNodes: {},
    added: [],
    silent: [],
  });
  expect(await readDrift(service.service.admin)).toEqual([]);
  const open = await askNodes(
    service.service.admin,
    `select json_agg(oid::regprocedure::text) from pg_proc
    where pronamespace in ('rowhouse'::regnamespace, 'api'::regnamespace)
      and has_function_privilege('public', oid, 'execute')`,
  );
  expect(open.map(({ result }) => result)).toEqual(open.map(() => ""));
  const [entry] = await ask<{ details: unknown }>(
    "select details::text from rowhouse.audit where action = 'convert_to_citus'",
  );
  expect(JSON.parse(String(entry?.details))).toMatchObject({ shards: 4, tables: 3 });
  // A second conversion is rejected.
  expect(await convert("--yes")).toEqual({
    code: 1,
    out: "",
    err: expect.stringContaining("The database is already distributed over 4 shards"),
  });
});

type Exchange = { method?: string; json?: unknown; status: number; has?: unknown };

test("every endpoint, every rule and a push work after the conversion", async () => {
  const [app, other] = apps as [TestApp, TestApp];
  const call = async (of: TestApp, path: string, { status, has, ...sent }: Exchange) => {
    const { status: found, json } = await service.call(of, `/v1/data/db/${path}`, sent);
    expect([path, found, json]).toEqual([path, status, has ?? json]);
    return Object(json) as { id: string };
  };
  const json = { name: "p 0", parent: null };
  // A repeated request gets its earlier response again.
  const headers = { "idempotency-key": "key 0" };
  const again = await service.call(app, "/v1/data/db/projects", { method: "POST", json, headers });
  const { id } = again.json as { id: string };
  expect([again.status, id]).toEqual([201, firsts[0] ?? ""]);

  await call(app, "projects", { method: "POST", json, status: 409, has: rejects("name") });
  const orphan = { title: "x", project: crypto.randomUUID() };
  await call(app, "todos", { method: "POST", json: orphan, status: 422, has: rejects("project") });
  await call(other, `projects/${id}`, { status: 404 });
  await call(app, `projects/${id}`, {
    status: 200,
    has: expect.objectContaining({ kind: "plan" }),
  });
  await call(app, `projects/${id}`, { method: "PATCH", json: { kind: "work" }, status: 200 });
  const created = await call(app, "projects", {
    method: "POST",
    json: { name: "new" },
    status: 201,
  });
  await call(app, "todos", {
    method: "POST",
    json: { title: "x", project: created.id },
    status: 201,
  });
  await call(app, `projects/${created.id}`, { method: "DELETE", status: 204 });
  const todos = (await service.call(app, "/v1/data/db/todos?limit=1000")).json;
  expect(todos).toMatchObject({ rows: { length: ROWS } });

  await call(other, "pushed", { method: "POST", json: { label: "x" }, status: 201 });
  const tags = t.model({ label: t.string(), note: t.ref("notes") });
  await service.pushSchema(app, defineSchema({ ...TABLES, tags }));
  const many = [{ label: "x" }, { label: "y" }];
  await call(app, "tags", { method: "POST", json: many, status: 201 });
});

function rejects(column: string): unknown {
  return expect.objectContaining({ details: [expect.objectContaining({ path: `/${column}` })] });
}
