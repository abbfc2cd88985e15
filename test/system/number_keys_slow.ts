/** Tables with keys of numbers and decimals: everything that reads or moves their rows, on PostgreSQL 15. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Database, readRows } from "../../src/db/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { makeProject, runHere } from "../support/command.ts";
import {
  type DebianCluster,
  hasDebianPostgres,
  runTool,
  startDebianCluster,
} from "../support/debian_cluster.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openEvents } from "../support/event_stream.ts";
import { postChange, postSchema } from "../support/push.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const ITEMS = "/v1/data/db/items";
const KEYS = ["#amount", "#code", "#price"];
/** In a quoted name or an expression. */
const KEY = /#(price|amount|code)/;
const SCHEMA = defineSchema({
  shops: { name: t.string().required() },
  items: t
    .model({
      place: t.integer().required(),
      shop: t.ref("shops"),
      price: t.number().index(),
      amount: t.decimal().index(),
      code: t.decimal().unique(),
      title: t.string().index(),
      state: t.enum(["open", "done"]),
    })
    .index("state", "price"),
});
/** What only an index answers with few visits. */
const QUERIES = [
  ...["order=price&limit=3", "order=price.desc&limit=3", "amount=gte.5&order=amount&limit=3"],
  ...["code=eq.7.50", "order=title&limit=3", "state=eq.open&order=price&limit=3"],
];
const ROWS = 40;

describe.skipIf(!hasDebianPostgres)("a table with keys", () => {
  let cluster: DebianCluster;
  let service: TestService;
  let app: TestApp;
  let project: ReturnType<typeof makeProject>;
  beforeAll(async () => {
    cluster = await startDebianCluster();
    project = makeProject();
    service = await openKeyed();
    app = await service.makeApp(SCHEMA);
    const shop = await service.call(app, "/v1/data/db/shops", {
      method: "POST",
      json: { name: "s" },
    });
    const { id } = shop.json as { id: string };
    for (let place = 0; place < ROWS; place += 1) {
      const json = {
        ...{ place, shop: id, title: `t${100 - place}`, state: place % 2 === 0 ? "open" : "done" },
        ...(place % 9 === 8 ? {} : { price: place * 1.5, amount: `${place}.10` }),
        code: `${place}.5`,
      };
      expect((await service.call(app, ITEMS, { method: "POST", json })).status).toBe(201);
    }
  }, 120_000);
  afterAll(async () => {
    project?.remove();
    await service?.close();
    await cluster?.stop();
  });

  const openKeyed = () =>
    openTestService({
      cluster: { admin: cluster.url, serving: cluster.url, prepare: true },
      service: { previews: ["filters", "live"], maxVisits: 8 },
    });
  const run = async (argv: string[], more: Record<string, string>) => {
    const env = { IDENTITY_SECRET: TEST_IDENTITY_SECRET, PREVIEW: "filters,live", ...more };
    const outcome = await runHere(argv, { ...project, env });
    expect([argv, outcome.code, outcome.err]).toEqual([argv, 0, expect.any(String)]);
    expect(`${outcome.out}${outcome.err}`).not.toMatch(KEY);
    return outcome;
  };
  const runAdmin = (argv: string[], at = service) =>
    run(["admin", ...argv], { ADMIN_DATABASE_URL: at.database.adminUrl });
  const answers = async (at: TestService, by: TestApp) => {
    const texts = await Promise.all(
      QUERIES.map(async (query) => (await at.call(by, `${ITEMS}?${query}`)).text),
    );
    expect(texts.join("")).not.toContain("needs_index");
    return texts;
  };
  const readKeys = async (admin: Database) =>
    (
      await readRows<{ name: string }>(
        admin,
        `select attname as name from pg_catalog.pg_attribute where attrelid = pg_catalog.to_regclass('data.items')
        and attname like '#%' and not attisdropped order by 1`,
        [],
      )
    ).map(({ name }) => name);
  const expectClean = async (admin: Database, keys: readonly string[] = KEYS) => {
    expect(await readDrift(admin)).toEqual([]);
    expect((await makeIsolationCheck(admin)()).issues).toEqual([]);
    expect(await readKeys(admin)).toEqual([...keys]);
  };
  /** The rows with their keys, and the indexes. */
  const readStored = (url: string) =>
    withDatabase(url, async (admin) => ({
      rows: await admin.message<Record<string, unknown>>(
        "select * from data.items order by app_id, id",
      ),
      indexes: await admin.message(
        "select indexname, indexdef from pg_indexes where schemaname = 'data' order by 1",
      ),
    }));

  test("shows no key in exports, types, descriptions and records of pushes", async () => {
    await expectClean(service.service.admin);
    const texts = await Promise.all(
      [ITEMS, "/v1/openapi.json", "/v1/data/schema", "/v1/data/schema/migrations/1"].map(
        async (path) => (await service.call(app, path)).text,
      ),
    );
    for (const text of texts) expect(text).not.toMatch(KEY);
    const env = { ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key };
    for (const format of ["csv", "ndjson"])
      await run(
        ["data", "export", "items", "--format", format, "--output", `items.${format}`],
        env,
      );
    for (const name of ["items.csv", "items.ndjson"])
      expect(readFileSync(join(project.folder, name), "utf8")).not.toContain("#");
    await run(["db", "pull"], env);
    for (const name of new Bun.Glob("**/*").scanSync({ cwd: project.folder, dot: true }))
      expect(readFileSync(join(project.folder, name), "utf8")).not.toMatch(KEY);
  });

  test("is followed by a stream of changes", async () => {
    await setAppSwitch(service.service, app.slug, ["live", true]);
    await using events = await openEvents(`${service.url}${ITEMS}/changes`, { key: app.key });
    expect(await events.next()).toMatchObject({ kind: "ready" });
    const json = { place: 99, price: 99.5, amount: "99.50", code: "99", title: "t0" };
    const row = (await service.call(app, ITEMS, { method: "POST", json })).json;
    expect(await events.next()).toMatchObject({ kind: "changes", data: [{ put: row }] });
  });

  test("is archived and restored in another service", async () => {
    const there = await openKeyed();
    try {
      const file = join(project.folder, "app.archive");
      await runAdmin(["export-app", app.slug, file]);
      expect(readFileSync(file, "utf8")).not.toContain("#");
      await runAdmin(["import-app", file], there);
      await expectClean(there.service.admin);
      const [here, restored] = [service.database.adminUrl, there.database.adminUrl];
      const rows = async (url: string) =>
        (await readStored(url)).rows.map((row) => ({ ...row, app_id: "" }));
      expect(await rows(restored)).toEqual(await rows(here));
      expect((await readStored(restored)).indexes).toEqual((await readStored(here)).indexes);
    } finally {
      await there.close();
    }
  });

  test("is dumped and restored by the tools of PostgreSQL", async () => {
    const { adminUrl } = service.database;
    const dump = join(project.folder, "whole.dump");
    runTool("pg_dump", ["--format=custom", `--file=${dump}`, adminUrl]);
    runTool("psql", ["-q", "-c", "create database restored", cluster.url]);
    const url = Object.assign(new URL(adminUrl), { pathname: "/restored" }).href;
    runTool("pg_restore", ["--exit-on-error", `--dbname=${url}`, dump]);
    expect(await readStored(url)).toEqual(await readStored(adminUrl));
    await withDatabase(url, (admin) => expectClean(admin));
  });

  test("is changed by its owner while another app uses it, and left by both", async () => {
    const other = await service.makeApp();
    expect((await postSchema(service, other, SCHEMA)).status).toBe(200);
    await expectClean(service.service.admin);
    const change = async (request: object, keys: string[]) => {
      const { json } = await postChange(service, app, { table: "items", ...request });
      expect(json).toMatchObject({ status: "applied" });
      await expectClean(service.service.admin, keys);
    };
    const env = { ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: other.key };
    await run(["data", "import", "items", "items.csv", "--skip", "shop", "--skip", "id"], env);
    expect(await answers(service, other)).toHaveLength(QUERIES.length);
    await runAdmin(["end-registration", other.slug, "items", "--yes"]);
    await change({ kind: "rename_column", column: "price", to: "cost" }, [
      "#amount",
      "#code",
      "#cost",
    ]);
    await change({ kind: "drop_column", column: "code" }, ["#amount", "#cost"]);
    const listed = await service.call(app, `${ITEMS}?order=cost&limit=3`);
    expect(listed.status).toBe(200);
    await runAdmin(["delete-app", other.slug, "--yes"]);
    await expectClean(service.service.admin, ["#amount", "#cost"]);
    await runAdmin(["delete-app", app.slug, "--yes"]);
    expect(await readKeys(service.service.admin)).toEqual([]);
  });
});
