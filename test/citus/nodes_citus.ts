/** Behavior that only a Citus cluster has: the location of rows, repeated setup, and calls that fail closed. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import postgres from "postgres";
import { askNodes, checkCluster, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { makeProject, runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { functionOf } from "../support/functions.ts";
import { proofOf } from "../support/proof.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

if (citusUrl() === undefined)
  throw new Error("Run by bun run test:citus, which states its requirements");

const SCHEMA = defineSchema({ notes: { title: t.string().required().unique() } });
const ROW = "00000000-0000-7000-8000-000000000001";

let service: TestService;
let app: TestApp;
beforeAll(async () => {
  service = await openTestService();
  app = await service.makeApp(SCHEMA);
});
afterAll(() => service.close());

const admin = () => service.service.admin;

test("a second migrate does nothing on any node, and the number of shards is permanent", async () => {
  const project = makeProject();
  const env = { ADMIN_DATABASE_URL: service.database.adminUrl };
  const migrate = (...flags: string[]) => runCommand(["migrate", ...flags], { ...project, env });
  const before = await readNodes();

  expect(await migrate("--citus")).toMatchObject({ code: 0 });
  expect(await migrate()).toMatchObject({ code: 0, out: "Nothing to do\n" });
  expect(await migrate("--citus", "--shards", "5")).toMatchObject({
    code: 1,
    err: expect.stringContaining("which cannot be changed"),
  });

  expect(await readNodes()).toEqual(before);
  expect(await readDrift(admin())).toEqual([]);
  project.remove();
});

/** Returns the roles and the rights on functions of every node. */
async function readNodes(): Promise<unknown[]> {
  const responses = await askNodes(
    admin(),
    `select json_build_array(
      (select json_agg(array[rolname::text, rolcanlogin::text] order by rolname) from pg_roles where rolname like 'rowhouse\\_%'),
      (select json_agg(array[oid::regprocedure::text, proacl::text] order by oid::regprocedure::text) from pg_proc
        where pronamespace in ('rowhouse'::regnamespace, 'api'::regnamespace)))`,
  );
  expect(responses.every(({ success }) => success)).toBe(true);
  return responses.map(({ node, result }) => [node, JSON.parse(result)]);
}

test("a login has the coordinator's password on every node, also after a change", async () => {
  const { database } = service;
  const login = `rowhouse_test_renewed_${crypto.randomUUID().slice(-12)}`;
  const url = new URL(database.servingUrl);
  url.username = login;
  const project = makeProject();
  const env = { ADMIN_DATABASE_URL: database.adminUrl, DATABASE_URL: url.href };
  const readPasswords = async () => {
    const responses = await askNodes(
      admin(),
      `select coalesce((select rolpassword from pg_authid where rolname = '${login}'), 'none')`,
    );
    return [...new Set(responses.map(({ result }) => result))];
  };
  const found: string[] = [];
  for (const statement of ["create role", "alter role"]) {
    await admin().message(
      `set local citus.enable_ddl_propagation = 'off'; do $$ begin ${statement} ${login} login password '${crypto.randomUUID()}'; end $$; select 1`,
    );
    expect(await readPasswords()).toHaveLength(2);
    expect(await runCommand(["migrate"], { ...project, env })).toMatchObject({ code: 0 });
    found.push(...(await readPasswords()));
  }
  expect(found).toEqual([expect.stringContaining("SCRAM"), expect.stringContaining("SCRAM")]);
  expect(new Set(found).size).toBe(2);
  project.remove();
  await askNodes(admin(), `do $$ begin drop owned by ${login}; drop role ${login}; end $$`);
});

test("doctor warns of each node that rejects direct calls", async () => {
  const { database } = service;
  const login = `rowhouse_test_direct_${crypto.randomUUID().slice(-12)}`;
  const url = new URL(database.servingUrl);
  url.username = login;
  const project = makeProject();
  const env = {
    ADMIN_DATABASE_URL: database.adminUrl,
    DATABASE_URL: url.href,
    CITUS_NODE_POOL: "1",
  };
  const onWorkers = (statement: string) =>
    askNodes(
      admin(),
      `do $$ begin if (select groupid from pg_dist_local_group) <> 0 then
        perform set_config('citus.enable_ddl_propagation', 'off', true); ${statement};
      end if; end $$`,
    );
  const findWarnings = async (more: Record<string, string> = {}) => {
    const { out } = await runCommand(["doctor"], { ...project, env: { ...env, ...more } });
    return out.split("\n").filter((line) => line.includes("does not accept connections from here"));
  };
  const workers = await admin().query<{ name: string }>(
    `select nodename || ':' || nodeport as name from pg_dist_node where groupid <> 0 order by 1`,
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  await admin().message(
    `set local citus.enable_ddl_propagation = 'off'; do $$ begin create role ${login} login; end $$; select 1`,
  );
  expect(await runCommand(["migrate"], { ...project, env })).toMatchObject({ code: 0 });
  expect(await findWarnings()).toEqual([]);
  await onWorkers(`alter role ${login} nologin`);

  const found = await findWarnings();

  expect(found.toSorted()).toEqual(
    workers.map(({ name }) => expect.stringContaining(`warn nodes: ${name} does not accept`)),
  );
  expect(await findWarnings({ CITUS_NODE_POOL: "0" })).toEqual([]);
  project.remove();
  await askNodes(admin(), `do $$ begin drop owned by ${login}; drop role ${login}; end $$`);
});

test("only authorized logins execute a function, on any node", async () => {
  const responses = await askNodes(
    admin(),
    `select json_agg(oid::regprocedure::text) from pg_proc
    where pronamespace in ('rowhouse'::regnamespace, 'api'::regnamespace)
      and has_function_privilege('public', oid, 'execute')`,
  );
  expect(responses.map(({ result }) => result)).toEqual(responses.map(() => ""));
});

test("a call that Citus does not delegate to its app's node fails and reads nothing", async () => {
  await service.call(app, "/v1/data/db/notes", { method: "POST", json: { title: "first" } });
  const call = `select api.${functionOf(SCHEMA, "notes", "get")}('${app.id}', ${proofOf(app.key)}, '${ROW}', 1000)`;
  const login = postgres(service.database.servingUrl, { max: 1 });

  expect(await login.unsafe(call)).toHaveLength(1);
  await expect(login.begin((session) => session.unsafe(call))).rejects.toMatchObject({
    code: "08006",
    message: "connection to the remote node rowhouse_tenant@ would be needed",
  });

  await login.end();
});

test("an app's rows are on only one node", async () => {
  const [{ name, shard } = { name: "", shard: "" }] = await admin().query<{
    name: string;
    shard: string;
  }>(
    `select nodename || ':' || nodeport as name, 'data.notes_' || shardid as shard from citus_shards
    where table_name = 'data.notes'::regclass and shardid = get_shard_id_for_distribution_column('data.notes', $1::text::uuid)`,
    [app.id],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  const counted = await askNodes(
    admin(),
    `select coalesce((xpath('/row/n/text()', query_to_xml('select count(*) as n from ' || to_regclass('${shard}'), false, true, '')))[1]::text, 'none')`,
  );
  expect(counted.filter(({ result }) => result === "1").map(({ node }) => node)).toEqual([name]);
  expect(counted.filter(({ result }) => result === "none")).toHaveLength(counted.length - 1);
});

test("requests find rows and proofs by index on their app's node, without a sequential scan", async () => {
  const busy = await service.makeApp(SCHEMA);
  const path = "/v1/data/db/notes";
  await admin().message(
    `insert into data.notes (app_id, id, title) select '${busy.id}'::uuid, gen_random_uuid(), n::text from generate_series(1, 2000) n; select 1`,
  );
  const created = await service.call(busy, path, { method: "POST", json: { title: "first" } });
  const row = created.headers.get("location") ?? "";
  const before = await readScans(busy);

  for (let round = 0; round < 20; round++) {
    await service.call(busy, row);
    await service.call(busy, `${path}?limit=5&offset=${round}`);
    const headers = { "if-match": "*" };
    await service.call(busy, row, { method: "PATCH", json: { title: `again ${round}` }, headers });
  }
  await service.call(busy, row, { method: "DELETE" });

  await eventually(async () => {
    const after = await readScans(busy);
    return after.every(({ byIndex }, index) => byIndex >= (before[index]?.byIndex ?? 0) + 60);
  });
  // PostgreSQL can count scans of the index build with a delay.
  for (const [index, { whole }] of (await readScans(busy)).entries())
    expect(whole - (before[index]?.whole ?? 0)).toBeLessThan(5);
});

/** Returns how often an app's node scanned the app's shards sequentially and by index. */
async function readScans(of: TestApp): Promise<{ whole: number; byIndex: number }[]> {
  const shards = await admin().query<{ schema: string; table: string }>(
    `select split_part(name, '.', 1) as schema, split_part(name, '.', 2) || '_' ||
      get_shard_id_for_distribution_column(name::regclass, $1::text::uuid) as table
    from unnest(array['data.notes', 'rowhouse.proofs']) as name`,
    [of.id],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  const names = shards.map(({ schema, table }) => `('${schema}', '${table}')`);
  const responses = await askNodes(
    admin(),
    `select coalesce(json_agg(json_build_object('whole', seq_scan, 'byIndex', idx_scan) order by relname), '[]')
    from pg_stat_all_tables where (schemaname, relname) in (${names.join(", ")})`,
  );
  return responses.flatMap(
    ({ result }) => JSON.parse(result) as { whole: number; byIndex: number }[],
  );
}

test("a disabled app has no proofs, and a deleted app has no rows on any node", async () => {
  const project = makeProject();
  const env = { ADMIN_DATABASE_URL: service.database.adminUrl };
  const run = async (...args: string[]) =>
    (await runCommand(["admin", ...args], { ...project, env })).code;
  const deleted = await service.makeApp(
    defineSchema({ going: { title: t.string(), kind: t.enum(["a", "b"]) } }),
  );
  const create = () =>
    service.call(deleted, "/v1/data/db/going", { method: "POST", json: { title: "x" } });
  expect((await create()).status).toBe(201);

  expect(await run("set-app", deleted.slug, "disabled", "on")).toBe(0);
  expect((await create()).status).toBe(401);
  expect(await run("set-app", deleted.slug, "disabled", "off")).toBe(0);
  expect((await create()).status).toBe(201);
  expect(await run("delete-app", deleted.slug, "--yes")).toBe(0);

  const left = await askNodes(
    admin(),
    `select (select count(*) from pg_class where relname like 'going%') + (select count(*) from pg_type where typname like 'going%')
      + (select count(*) from pg_proc where proname like 'going%')`,
  );
  expect(left.map(({ result }) => result)).toEqual(left.map(() => "0"));
  project.remove();
});

test("a correctly configured cluster has no issue", async () => {
  expect(await checkCluster(admin(), undefined)).toBeUndefined();
});
