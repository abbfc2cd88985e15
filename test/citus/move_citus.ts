/** An app moves between nodes under reads and writes, without errors for its callers. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { makeProject, runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const SCHEMA = defineSchema({
  moves: { title: t.string().required(), count: t.number().required() },
});
const PATH = "/v1/data/db/moves";
const MOVES = 6;
const WRITERS = 4;
const READERS = 2;

let service: TestService;
let app: TestApp;

describe.each([
  { mode: "through the coordinator", nodeConnections: 0 },
  { mode: "straight to the nodes", nodeConnections: 5 },
])("calls $mode:", ({ nodeConnections }) => {
  beforeAll(async () => {
    service = await openTestService({ service: { nodeConnections } });
    app = await service.makeApp(SCHEMA);
  });
  afterAll(() => service.close());

  test("a move under writes and reads causes no error, and no lost or duplicate row", async () => {
    const ends = new Map<string, number>();
    const record = (end: string) => ends.set(end, (ends.get(end) ?? 0) + 1);
    const titles: string[] = [];
    const first = await service.call(app, PATH, {
      method: "POST",
      json: { title: "first", count: 0 },
    });
    const { id } = first.json as { id: string };
    let counted = 0;
    let isMoving = true;

    const write = async (writer: number) => {
      for (let number = 0; isMoving; number++) {
        const json = { title: `${writer} ${number}`, count: number };
        const created = await service.call(app, PATH, { method: "POST", json });
        record(`create ${created.status}${created.status === 201 ? "" : created.text}`);
        if (created.status === 201) titles.push(json.title);
      }
    };
    const count = async () => {
      while (isMoving) {
        const json = { count: ++counted };
        const changed = await service.call(app, `${PATH}/${id}`, { method: "PATCH", json });
        record(`update ${changed.status}`);
      }
    };
    const read = async () => {
      while (isMoving) {
        const found = await service.call(app, `${PATH}/${id}`);
        record(`get ${found.status} ${Object(found.json).id === id}`);
      }
    };
    const work = [
      ...Array.from({ length: WRITERS }, (_, writer) => write(writer)),
      ...Array.from({ length: READERS }, read),
      count(),
    ];
    const nodes: string[] = [];
    for (let done = 0; done < MOVES; done++) {
      nodes.push(await move());
      // Waits until every caller has called the new node.
      const [written, changed] = [titles.length, counted];
      await eventually(() => titles.length > written + WRITERS * 3 && counted > changed + 3);
    }
    isMoving = false;
    await Promise.all(work);

    expect(nodes).toHaveLength(MOVES);
    expect([...ends.keys()].sort()).toEqual(["create 201", "get 200 true", "update 200"]);
    expect(await readTitles()).toEqual(["first", ...titles].sort());
    expect((await service.call(app, `${PATH}/${id}`)).json).toMatchObject({ count: counted });
  });

  test("admin move-app moves only one app, and lists every blocker", async () => {
    // More apps than shards, so that some apps share a shard.
    const apps = [app];
    for (let count = 0; count < 4; count++) apps.push(await service.makeApp(SCHEMA));
    for (const each of apps)
      await service.call(each, PATH, { method: "POST", json: { title: each.slug, count: 1 } });
    const project = makeProject();
    const env = { ADMIN_DATABASE_URL: service.database.adminUrl };
    const moveApp = (slug: string, to: string) =>
      runCommand(["admin", "move-app", slug, "--to", to, "--json"], { ...project, env });
    const nodes = await readNodes();

    const moves: { app: string; from: string; to: string; isIsolated: boolean }[] = [];
    for (const { slug } of apps)
      for (const to of nodes) {
        const { code, out } = await moveApp(slug, to);
        if (code === 0) moves.push(JSON.parse(out));
        else expect(JSON.parse(out).details[0].message).toBe(`the app is already on ${to}`);
        if (code === 0) break;
      }
    expect(moves).toHaveLength(apps.length);
    expect(moves.some(({ isIsolated }) => isIsolated)).toBe(true);
    for (const each of apps) {
      const { text } = await service.call(each, `${PATH}?limit=1000`);
      expect(text.split(each.slug)).toHaveLength(2);
    }
    expect(await makeIsolationCheck(service.service.db)()).toMatchObject({
      issues: [],
      ofNodes: {},
      added: [],
      silent: [],
    });
    const { out } = await runCommand(["admin", "audit", "--json"], { ...project, env });
    const [entry] = JSON.parse(out).entries;
    const { isIsolated: _, app: moved, ...details } = moves.at(-1) ?? {};
    expect(entry).toMatchObject({ action: "move_app", app: moved, details });

    const rejected = await moveApp("unknown", "127.0.0.1:1");
    expect(JSON.parse(rejected.out).details).toEqual([
      { path: "/slug", message: 'no app has the slug "unknown"' },
      { path: "/to", message: `must be a node of the cluster: ${nodes.join(", ")}` },
    ]);
    project.remove();
  }, 120_000);
});

/** Moves the app's shards to another node and returns the node's name. */
async function move(): Promise<string> {
  const [row] = await service.service.admin.query<{ name: string; moved: string }>(
    `select there.nodename || ':' || there.nodeport as name, citus_move_shard_placement(
      placement.shardid, placement.nodename, placement.nodeport::int, there.nodename, there.nodeport, 'block_writes')::text as moved
    from citus_shards as placement join lateral (
      select nodename, nodeport from pg_dist_node
      where groupid <> 0 and (nodename, nodeport) <> (placement.nodename, placement.nodeport)
      order by random() limit 1) as there on true
    where table_name = 'data.moves'::regclass
      and placement.shardid = get_shard_id_for_distribution_column('data.moves', $1::text::uuid)`,
    [app.id],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) throw new Error("The app's shard was not found");
  return row.name;
}

async function readTitles(): Promise<string[]> {
  const titles: string[] = [];
  for (let offset = 0, hasMore = true; hasMore; offset += 1000) {
    const page = await service.call(app, `${PATH}?limit=1000&offset=${offset}`);
    const { rows, ...rest } = page.json as { rows: { title: string }[]; hasMore: boolean };
    titles.push(...rows.map(({ title }) => title));
    hasMore = rest.hasMore;
  }
  return titles.sort();
}

type Node = { name: string };

async function readNodes(): Promise<string[]> {
  const rows = await service.service.admin.query<Node>(
    "select nodename || ':' || nodeport as name from pg_dist_node where groupid <> 0 order by groupid",
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return rows.map(({ name }) => name);
}

test("admin move-app rejects a move with long write delays unless the operator accepts the delays", async () => {
  const large = await openTestService();
  const { slug } = await large.makeApp(SCHEMA);
  const project = makeProject();
  const env = { ADMIN_DATABASE_URL: large.database.adminUrl };
  const findIssues = async (...flags: string[]) => {
    const command = ["admin", "move-app", slug, "--to", "127.0.0.1:1", ...flags, "--json"];
    const { out } = await runCommand(command, { ...project, env });
    return (JSON.parse(out).details as { path: string; message: string }[])
      .filter(({ path }) => path !== "/to")
      .map(({ message }) => message);
  };
  expect(await findIssues()).toEqual([]);

  // 99 tables, and 4 of the service and of the app. The moves of 103 tables take longer than 30 s.
  await large.service.admin.message(
    `do $do$ begin for number in 1 .. 99 loop
      execute format('create table public.spare_%s (app_id uuid primary key)', number);
      perform create_distributed_table('public.spare_' || number, 'app_id', colocate_with := 'rowhouse.shards');
    end loop; end $do$; select 1`,
    { timeoutMs: 120_000 },
  );

  expect(await findIssues()).toEqual([
    "103 tables make writes of all apps on the shard wait up to 31 s, and fail after 30 s: add --accept-timeouts to move the app nevertheless",
  ]);
  expect(await findIssues("--accept-timeouts")).toEqual([]);
  project.remove();
  await large.close();
}, 180_000);
