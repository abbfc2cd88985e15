/** Rejected requests on a cluster: live updates, and pushes while a node fails. Only a lock makes a push busy. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Database, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { type Admin, openAdmin } from "../support/admin.ts";
import { withDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { whileDone } from "../support/held_lock.ts";
import { makePerson, signInAs, submitForm, visit } from "../support/people.ts";
import { freshName, postSchema } from "../support/push.ts";

let admin: Admin;
beforeAll(async () => {
  admin = await openAdmin({}, { service: { previews: ["live"] } });
});
afterAll(() => admin.close());

const REASON = "Cannot turn on live updates: a Citus cluster has no event streams";

async function ask<Row>(text: string, values: string[] = []): Promise<Row[]> {
  return await admin.service.service.admin.query<Row>(text, values, {
    retry: "unsafe",
    queue: SERVICE_QUEUE,
  });
}

test("live updates cannot be turned on by an operator or an administrator, only off", async () => {
  const { service } = admin;
  const { slug } = await service.makeApp();
  const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));

  const on = await admin.run("set-app", slug, "live", "on");
  const form = await submitForm(service, jar, { path: `/console/apps/${slug}/set-live` });

  expect([on.code, on.out, on.err]).toEqual([1, "", expect.stringContaining(REASON)]);
  expect([form.status, form.text]).toEqual([422, expect.stringContaining(REASON)]);
  // The app was live before the database was distributed.
  await ask("update rowhouse.apps set switches = '{live}' where slug = $1", [slug]);
  expect((await admin.run("set-app", slug, "live", "on")).err).toContain(REASON);
  expect((await admin.run("set-app", slug, "live", "off")).code).toBe(0);
});

test("the page of rows opens no stream for an app that was live before the distribution", async () => {
  const { service } = admin;
  const table = freshName("live");
  const { slug } = await service.makeApp(defineSchema({ [table]: { title: t.string() } }));
  await ask("update rowhouse.apps set switches = '{live}' where slug = $1", [slug]);
  const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));

  const page = await visit(service, jar, `/console/apps/${slug}/tables/${table}`);

  expect(page.status).toBe(200);
  expect(page.text).not.toContain("data-changes");
});

type Node = { name: string; host: string; port: number };

/** Returns workers that sort before and after the coordinator, because Citus reports their errors differently. */
async function readWorkers(): Promise<Node[]> {
  return await ask<Node>(
    `select nodename || ':' || nodeport as name, nodename as host, nodeport as port from pg_dist_node
    where groupid <> 0 order by nodename, nodeport`,
  );
}

function toNodeUrl({ host, port }: Node): string {
  const url = new URL(admin.service.database.adminUrl);
  [url.hostname, url.port] = [host, String(port)];
  return url.href;
}

async function endWaits(node: Database): Promise<unknown[]> {
  return await node.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
    where wait_event_type = 'Lock' and datname = current_database()`,
    [],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
}

/** Runs the next statement on one node, without propagation. */
const ON_ONE_NODE = "set local citus.enable_ddl_propagation = off";

describe("a push", () => {
  /** Creates a table, and a function that pushes a change of it. */
  async function makeTable() {
    const table = freshName("torn");
    const app = await admin.service.makeApp(defineSchema({ [table]: { title: t.string() } }));
    const changed = defineSchema({ [table]: { title: t.string(), label: t.string() } });
    return { table, pushOnce: () => postSchema(admin.service, app, changed) };
  }

  test("is busy while a node has locked the table", async () => {
    for (const node of await readWorkers()) {
      const { table, pushOnce } = await makeTable();
      const text = `${ON_ONE_NODE}; lock table data."${table}" in access exclusive mode`;
      const response = await whileDone(toNodeUrl(node), { text }, pushOnce);
      expect(response, node.name).toMatchObject({ status: 409, json: { error: "push_busy" } });
      expect((await pushOnce()).json).toMatchObject({ status: "applied" });
    }
  });

  test("reports drift, and not a lock, if a node has lost the table", async () => {
    for (const node of await readWorkers()) {
      const { table, pushOnce } = await makeTable();

      const rename = (from: string, to: string) =>
        whileDone(
          toNodeUrl(node),
          { text: `${ON_ONE_NODE}; alter table data."${from}" rename to "${to}"` },
          async () => {},
        );
      await rename(table, `${table}_lost`);
      const response = await pushOnce();
      expect(response.json, node.name).toMatchObject({ error: "incompatible_schema" });
      await rename(`${table}_lost`, table);
      expect((await pushOnce()).json).toMatchObject({ status: "applied" });
    }
  });

  test("names the node if it ends the session that waits for a lock", async () => {
    for (const node of await readWorkers()) {
      const { table, pushOnce } = await makeTable();
      const text = `${ON_ONE_NODE}; lock table data."${table}" in access exclusive mode`;
      const response = await whileDone(toNodeUrl(node), { text }, async () => {
        const pushing = pushOnce();
        await withDatabase(toNodeUrl(node), (other) =>
          eventually(async () => (await endWaits(other)).length > 0),
        );
        return await pushing;
      });
      expect(response, node.name).toMatchObject({ status: 503, json: { error: "unavailable" } });
      expect((await pushOnce()).json).toMatchObject({ status: "applied" });
    }
  });
});
