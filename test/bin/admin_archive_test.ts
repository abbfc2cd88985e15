/** `rowhouse admin export-app` and `import-app`: an app in a file, and with the same ids in the same or another service. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { issueKey } from "../../src/accounts/apps/mod.ts";
import { planSettings } from "../../src/bin/admin/import_settings.ts";
import { ANCHOR, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { type Change, readDrift } from "../../src/push/mod.ts";
import { type Admin, openAdmin } from "../support/admin.ts";
import { citusUrl } from "../support/citus.ts";
import { makeProject, runHere, schemaText } from "../support/command.ts";
import { testDeps } from "../support/deps.ts";
import { makeHistory, postMigrations } from "../support/history.ts";
import { makePerson } from "../support/people.ts";
import { freshName, postSchema } from "../support/push.ts";
import { openTestService, type TestApp } from "../support/service.ts";

const isOnCitus = citusUrl() !== undefined;
const folder = mkdtempSync(join(tmpdir(), "rowhouse-archives-"));
let here: Admin;
let there: Admin;
beforeAll(async () => {
  const withoutPreview = openAdmin({}, { service: { previews: [] } });
  [here, there] = await Promise.all([openAdmin(), withoutPreview]);
});
afterAll(async () => {
  await here.close();
  await there.close();
  rmSync(folder, { recursive: true });
});

const makeFile = () => join(folder, `${crypto.randomUUID()}.archive`);

type Names = Record<"projects" | "todos" | "people", string>;
const makeNames = (): Names => ({
  projects: freshName(),
  todos: freshName(),
  people: freshName(),
});

/** Two tables that refer to each other, one that refers to itself, and every kind of column. */
const schemaOf = ({ projects, todos, people }: Names) =>
  defineSchema({
    [people]: { name: t.string().required(), boss: t.ref(people) },
    [projects]: { name: t.string().required().unique(), first: t.ref(todos), lead: t.ref(people) },
    [todos]: {
      title: t.string().required(),
      project: t.ref(projects, { onDelete: "cascade" }).required(),
      size: t.number(),
      price: t.decimal(),
      done: t.boolean(),
      token: t.uuid(),
      due: t.timestamp().default("now"),
      tags: t.json(),
      status: t.enum(["open", "it's done"]).required().default("open"),
    },
  });

async function create(admin: Admin, app: TestApp, table: string, json: object): Promise<string> {
  const { json: row } = await admin.service.call(app, `/v1/data/db/${table}`, {
    method: "POST",
    json,
  });
  return (row as { id: string }).id;
}

/** An app with rows that refer to each other. */
async function makeApp(names: Names): Promise<TestApp> {
  const app = await here.service.makeApp(schemaOf(names), {
    origins: ["https://wiki.example.org"],
    redirects: ["https://shop.example.org/callback"],
  });
  const ada = await create(here, app, names.people, { name: "Ada" });
  const bob = await create(here, app, names.people, { name: 'B"ob\n\\n\u2028', boss: ada });
  const change = (table: string, id: string, json: object) =>
    here.service.call(app, `/v1/data/db/${table}/${id}`, { method: "PATCH", json });
  await change(names.people, ada, { boss: bob });
  const project = await create(here, app, names.projects, { name: "Garden", lead: bob });
  const todo = await create(here, app, names.todos, {
    title: "Dig",
    project,
    size: 1.5,
    price: "12345678901234567890.0100",
    done: true,
    token: crypto.randomUUID(),
    due: "2026-01-02T03:04:05.123456Z",
    tags: { a: [1, "ä\n", null], "": 1e30 },
    status: "it's done",
  });
  await create(here, app, names.todos, { title: "", project });
  await change(names.projects, project, { first: todo });
  return app;
}

/** All rows as the app reads them, without the id of the app. */
async function readAll(admin: Admin, app: TestApp, names: Names): Promise<unknown> {
  const lists = await Promise.all(
    Object.values(names).map((name) => admin.service.call(app, `/v1/data/db/${name}`)),
  );
  return lists.map(({ text }) => JSON.parse(text.replaceAll(app.id, "app")).rows);
}

/** The id of an app, read directly: a command needs its own connection. */
async function findApp({ service }: Admin, slug: string): Promise<string | undefined> {
  const [row] = await service.service.admin.query<{ id: string }>(
    "select id from rowhouse.apps where slug = $1",
    [slug],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return row?.id;
}

/** A key for an imported app. */
async function openApp(admin: Admin, slug: string): Promise<TestApp> {
  const { text: key } = await issueKey(testDeps(admin.service.service), {
    slug,
    name: "moved",
    scopes: ["data:read", "data:write", "schema:push"],
    expiresAt: undefined,
  });
  admin.service.secrets.add(key);
  const app = { id: (await findApp(admin, slug)) ?? "", slug, key };
  // A process may have read the tables between two migrations. This makes it read them again.
  expect((await admin.service.call(app, "/v1/openapi.json")).status).toBe(200);
  return app;
}

test("an app moves to another service with its ids, migrations and origins, and works there", async () => {
  const names = makeNames();
  const app = await makeApp(names);
  const more = defineSchema({
    [names.people]: { name: t.string().required(), boss: t.ref(names.people), note: t.string() },
  });
  expect((await postSchema(here.service, app, more)).status).toBe(200);
  const person = await makePerson(here.service, { app });
  const file = makeFile();
  const exported = await here.run("export-app", app.slug, file, "--json");
  expect(JSON.parse(exported.out)).toMatchObject({ app: app.slug, rows: 5 });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const text = readFileSync(file, "utf8");
  expect(text).not.toContain(app.key.split(".")[1] ?? "");
  expect(text).toContain(person.email);

  const planned = await there.run("import-app", file, "--dry-run");
  expect(planned.out).toContain(`Would import app ${app.slug}`);
  expect(await findApp(there, app.slug)).toBeUndefined();

  const imported = await there.run("import-app", file);
  expect(imported.err).toContain(`Not imported: ${person.email} has the role`);
  expect(imported.out).toMatch(
    new RegExp(`Imported app ${app.slug} .*: 3 tables, 5 rows, 2 migrations`),
  );
  const made = await openApp(there, app.slug);
  expect(await readAll(there, made, names)).toEqual(await readAll(here, app, names));
  const apps = (await there.json("list-apps"))["apps"] as { slug: string; targets: string[] }[];
  expect(apps.find(({ slug }) => slug === app.slug)?.targets).toEqual([
    "https://shop.example.org/callback",
    "https://wiki.example.org",
  ]);
  expect(await readDrift(there.service.service.admin)).toEqual([]);
  const [old, now] = await Promise.all([
    here.service.call(app, "/v1/data/schema"),
    there.service.call(made, "/v1/data/schema"),
  ]);
  expect(now.json).toEqual(old.json);
  await create(there, made, names.people, { name: "New" });
  // The second import finds an app with that name.
  const again = await there.run("import-app", file);
  expect([again.code, again.err]).toEqual([
    1,
    expect.stringContaining(`App ${app.slug} already exists`),
  ]);
  const into = await there.run("import-app", file, "--into", app.slug);
  expect([into.code, into.err]).toEqual([
    1,
    expect.stringContaining(`App ${app.slug} has tables or migrations`),
  ]);
});

test("an app is copied within its service", async () => {
  const names = makeNames();
  const app = await makeApp(names);
  const file = makeFile();
  expect((await here.run("export-app", app.slug, file)).code).toBe(0);
  const slug = `copy-${crypto.randomUUID().slice(-8)}`;
  expect((await here.run("import-app", file, "--as", slug)).code).toBe(0);
  const copy = await openApp(here, slug);
  expect(copy.id).not.toBe(app.id);
  expect(await readAll(here, copy, names)).toEqual(await readAll(here, app, names));
});

test("an app whose files no longer declare a column and a table is copied within its service", async () => {
  const [first, second] = [freshName(), freshName()];
  const app = await here.service.makeApp(
    defineSchema({ [first]: { x: t.string(), y: t.string() }, [second]: { z: t.string() } }),
  );
  await create(here, app, first, { x: "1", y: "2" });
  await create(here, app, second, { z: "3" });
  await postSchema(here.service, app, defineSchema({ [first]: { x: t.string(), q: t.number() } }));
  const { json: status } = await here.service.call(app, "/v1/data/schema");
  const { migrations: history } = status as { migrations: object[] };
  const file = makeFile();
  await here.run("set-app", app.slug, "disabled", "on");
  await here.run("export-app", app.slug, file);
  const imported = await here.run("import-app", file, "--as", `${app.slug}-copy`);
  expect([imported.code, imported.err]).toEqual([0, expect.not.stringContaining("differ")]);
  const copy = await openApp(here, `${app.slug}-copy`);
  const { json } = await here.service.call(copy, `/v1/data/db/${first}`);
  expect(json).toMatchObject({ rows: [{ x: "1", y: "2", q: null }] });
  const rest = await here.service.call(copy, `/v1/data/db/${second}`);
  expect(rest.json).toMatchObject({ rows: [{ z: "3" }] });
  const copied = await here.service.call(copy, "/v1/data/schema");
  expect(copied.json).toMatchObject({ migrations: history });
});

describe("a change of a table that another app owns", () => {
  const [title, note] = [t.string().required(), t.string().required().default("none")];
  const status = t.enum(["open", "paused", "done"]);
  const FULL = { title, note, status };
  /** A project's changes, and the columns that it declares from then on. */
  const CHANGES: { name: string; change: (table: string) => Change; rest: object | undefined }[] = [
    {
      name: "db drop of a column",
      change: (table) => ({ kind: "drop_column", table, column: "note" }),
      rest: { title, status },
    },
    {
      name: "db drop of an enum column",
      change: (table) => ({ kind: "drop_column", table, column: "status" }),
      rest: { title, note },
    },
    {
      name: "db drop of a table",
      change: (table) => ({ kind: "drop_table", table }),
      rest: undefined,
    },
    {
      name: "db drop-value of a value in no row",
      change: (table) => ({ kind: "drop_value", table, column: "status", value: "done" }),
      rest: { title, note, status: t.enum(["open", "paused"]) },
    },
  ];

  /** Applies migrations of a project that owns the table elsewhere. Here the change leaves the table as it is. */
  async function exportApp(
    { change, rest }: Pick<(typeof CHANGES)[number], "change" | "rest">,
    after: number,
  ) {
    const [table, other] = [freshName(), freshName()];
    await here.service.makeApp(defineSchema({ [table]: FULL }));
    const [full, now] = [FULL, rest].map((columns) =>
      defineSchema({ [other]: {}, ...(columns === undefined ? {} : { [table]: columns }) }),
    );
    const app = await here.service.makeApp();
    const history = makeHistory([full, now, ...Array(after).fill(now)], {
      changes: { 2: change(table) },
    });
    const apply = async (text: string, current: unknown) => {
      const response = await postMigrations({ service: here.service, app }, [text], current);
      expect(response).toMatchObject({ status: 200 });
    };
    await apply(history[0] ?? "", full);
    await create(here, app, table, { title: "a", note: "b", status: "paused" });
    await create(here, app, table, { title: "c", note: "d", status: "open" });
    for (const text of history.slice(1)) await apply(text, now);
    const file = makeFile();
    await here.json("export-app", app.slug, file);
    return { app, file, full, now, names: { projects: table, todos: other, people: other } };
  }

  test.each(CHANGES.flatMap((row) => [0, 1].map((after) => ({ ...row, after }))))(
    "$name, with $after later migrations, does not prevent an import",
    async ({ after, ...row }) => {
      const { app, names, file, now } = await exportApp(row, after);
      for (const admin of [here, there]) {
        const slug = `${app.slug}-copy`;
        expect(await admin.run("import-app", file, "--as", slug)).toMatchObject({ code: 0 });
        const copy = await openApp(admin, slug);
        expect(await readAll(admin, copy, names)).toEqual(await readAll(here, app, names));
        const pushed = await postSchema(admin.service, copy, now);
        expect(pushed).toMatchObject({ status: 200, json: { status: "unchanged" } });
        expect(await readDrift(admin.service.service.admin)).toEqual([]);
      }
    },
  );

  test.each([0, 1])(
    "db drop-value of a value that rows have, with %p later migrations, leaves the value on a service without the other app",
    async (after) => {
      const row = {
        change: (table: string): Change => ({
          kind: "drop_value",
          table,
          column: "status",
          value: "paused",
        }),
        rest: { title, note, status: t.enum(["open", "done"]) },
      };
      const { app, names, file, full, now } = await exportApp(row, after);
      await there.json("import-app", file);
      const copy = await openApp(there, app.slug);
      expect(await readAll(there, copy, names)).toEqual(await readAll(here, app, names));
      const { status: code, text } = await postSchema(there.service, copy, now);
      expect([code, text]).toEqual([409, expect.stringContaining("keep all existing values")]);
      expect(await postSchema(there.service, copy, full)).toMatchObject({
        status: 200,
        json: { status: "unchanged" },
      });
    },
  );
});

describe("an app whose histories were joined", () => {
  const title = t.string();
  const JOINED = "title: t.string(), mine: t.string(), theirs: t.number()";
  const projects: ReturnType<typeof makeProject>[] = [];
  afterAll(() => {
    for (const project of projects) project.remove();
  });

  /** The service has `theirs`, which the project's migrations lack. One of them declares `old`, which the files no longer declare. */
  async function joinHistories() {
    const name = freshName();
    const app = await here.service.makeApp(defineSchema({ [name]: { title, theirs: t.number() } }));
    const project = makeProject();
    projects.push(project);
    const declare = (columns: string) =>
      project.write("schema/mod.ts", schemaText(`{ ${name}: { ${columns} } }`));
    const steps = [{ title }, { title, old: t.string() }, { title, mine: t.string() }];
    const texts = makeHistory(steps.map((columns) => defineSchema({ [name]: columns })));
    for (const [index, text] of texts.entries())
      project.write(`schema/migrations/000${index + 1}_step_${index + 1}.sql`, text);
    declare(JOINED);
    const db = ({ service }: Admin, { key }: TestApp, ...words: string[]) =>
      runHere(["db", ...words], {
        folder: project.folder,
        env: { ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: key },
      });
    expect(await db(here, app, "resolve")).toMatchObject({ code: 0 });
    await create(here, app, name, { title: "a", mine: "b", theirs: 1, old: "c" });
    return { app, name, declare, db };
  }

  async function exportApp({ slug }: TestApp): Promise<string> {
    const file = makeFile();
    await here.json("export-app", slug, file);
    return file;
  }

  test.each([
    { name: "moves directly after the join", columns: JOINED, words: () => ["push"] },
    {
      name: "moves after a push",
      columns: `${JOINED}, more: t.string()`,
      words: () => ["push"],
    },
    {
      name: "moves after a change of a column that only a joined migration declares",
      columns: JOINED,
      words: (table: string) => ["rename", `${table}.old`, "older", "--yes"],
    },
  ])("$name, and its project continues", async ({ columns, words }) => {
    const { app, name, declare, db } = await joinHistories();
    declare(columns);
    expect(await db(here, app, ...words(name))).toMatchObject({ code: 0 });
    expect((await there.run("import-app", await exportApp(app))).code).toBe(0);
    const copy = await openApp(there, app.slug);
    const names = { projects: name, todos: name, people: name };
    expect(await readAll(there, copy, names)).toEqual(await readAll(here, app, names));
    const paths = ["/v1/data/schema", "/v1/data/schema/migrations/2"];
    for (const path of paths) {
      const copied = await there.service.call(copy, path);
      expect(copied.json).toEqual((await here.service.call(app, path)).json);
    }
    expect((await db(there, copy, "status")).out).toContain("joins 0003_step_3");
    expect((await db(there, copy, "push")).out).toContain("Nothing to do");
    declare(`${columns}, last: t.string()`);
    expect(await db(there, copy, "push")).toMatchObject({ code: 0 });
  });

  test("moves in an archive that lacks the joined migrations, and the histories can be joined again", async () => {
    const { app, db } = await joinHistories();
    const [file, older] = [await exportApp(app), makeFile()];
    const change = (line: string) => {
      const { migrations, ...header } = JSON.parse(line);
      if (migrations === undefined) return line;
      const [first, { text }] = migrations;
      return JSON.stringify({ ...header, migrations: [first, text] });
    };
    writeFileSync(older, forge(readFileSync(file, "utf8"), change));
    expect((await there.run("import-app", older)).code).toBe(0);
    const copy = await openApp(there, app.slug);
    expect((await db(there, copy, "push")).err).toContain("the histories differ");
    expect(await db(there, copy, "resolve")).toMatchObject({ code: 0 });
    expect((await db(there, copy, "push")).out).toContain("Nothing to do");
  });

  test("is not imported from an archive with edited joined migrations", async () => {
    const { app } = await joinHistories();
    const [file, forged] = [await exportApp(app), makeFile()];
    const change = (line: string) => line.replaceAll("-- made elsewhere", "-- made nowhere");
    writeFileSync(forged, forge(readFileSync(file, "utf8"), change));
    const { code, err } = await there.run("import-app", forged);
    expect([code, err]).toEqual([1, expect.stringContaining("was edited after push wrote it")]);
    expect(await findApp(there, app.slug)).toBeUndefined();
  });
});

describe("settings of an app", () => {
  let live: Admin;
  beforeAll(async () => {
    live = await openAdmin({}, { service: { previews: ["live"] } });
  });
  afterAll(() => live.close());

  async function exportApp(): Promise<{ slug: string; file: string }> {
    const { slug } = await live.service.makeApp();
    const file = makeFile();
    await live.json("set-limit", slug, "--per-minute", "6000", "--per-key", "600");
    if (!isOnCitus) await live.json("set-app", slug, "live", "on");
    await live.json("set-app", slug, "people-list", "on");
    expect((await live.run("export-app", slug, file)).code).toBe(0);
    return { slug, file };
  }
  async function readSettings(admin: Admin, slug: string): Promise<unknown> {
    const file = makeFile();
    expect((await admin.run("export-app", slug, file)).code).toBe(0);
    const { limits, on } = JSON.parse(readFileSync(file, "utf8").split("\n")[0] ?? "");
    return { ...limits, on };
  }

  test.skipIf(isOnCitus)(
    "limits and live updates are imported, and the list of people is reported as not imported",
    async () => {
      const { file } = await exportApp();
      const slug = `copy-${crypto.randomUUID().slice(-8)}`;
      const lines = [
        "Notice: requests per minute as in the archive: 6000, per key 600",
        "Notice: on as in the archive: live updates",
        `Not imported: list of people (use rowhouse admin set-app ${slug} people-list on)`,
      ].join("\n");
      const planned = await live.run("import-app", file, "--as", slug, "--dry-run");
      expect(planned.err).toContain(lines);
      const imported = await live.run("import-app", file, "--as", slug);
      expect([imported.code, imported.err]).toEqual([0, expect.stringContaining(lines)]);
      expect(await readSettings(live, slug)).toEqual({
        perMinute: 6000,
        perMinuteOfKey: 600,
        on: ["live"],
      });
    },
  );

  // Only the anchor: the rest of an import requires a real cluster.
  test("live updates are reported as not imported on a Citus cluster", async () => {
    const cluster = await openTestService({ service: { previews: ["live"] } });
    const { admin } = cluster.service;
    await admin.message(`create table if not exists ${ANCHOR} (); select 1`);
    const limits = { perMinute: null, perMinuteOfKey: null };
    const plan = await planSettings(
      { admin },
      { limits, on: ["live"] },
      { slug: "wiki", found: undefined },
    );
    await cluster.close();
    const reason = "a Citus cluster has no event streams";
    expect(plan).toEqual({ on: [], skipped: [{ setting: "live", reason }] });
  });

  test.skipIf(isOnCitus)(
    "live updates are reported as not imported if PREVIEW does not include live",
    async () => {
      const { slug, file } = await exportApp();
      expect((await there.json("import-app", file))["settings"]).toEqual({
        limits: { perMinute: 6000, perMinuteOfKey: 600 },
        on: [],
        skipped: [
          {
            setting: "live",
            reason: `requires PREVIEW=live; then use rowhouse admin set-app ${slug} live on`,
          },
          { setting: "peopleList", reason: `use rowhouse admin set-app ${slug} people-list on` },
        ],
      });
    },
  );

  test("an existing app keeps its limits", async () => {
    const { slug, file } = await exportApp();
    await there.json("create-app", slug);
    await there.json("set-limit", slug, "--per-minute", "60");
    const { err } = await there.run("import-app", file, "--into", slug);
    expect(err).toContain(`Not imported: limits (${slug} has its own limits)`);
    expect(await readSettings(there, slug)).toMatchObject({ perMinute: 60, perMinuteOfKey: null });
  });

  test.each([0, -1, 1.5, 100_000_001, "6000"])(
    "a forged archive with a limit of %p is rejected",
    async (limit) => {
      const { slug, file } = await exportApp();
      const forged = makeFile();
      const change = (line: string) => line.replace("6000", JSON.stringify(limit));
      writeFileSync(forged, forge(readFileSync(file, "utf8"), change));
      const { code, err } = await there.run("import-app", forged);
      expect([code, err]).toEqual([1, expect.stringContaining("must be an app archive")]);
      expect(await findApp(there, slug)).toBeUndefined();
    },
  );

  test("a forged archive cannot turn on a setting that no archive names", async () => {
    const { slug, file } = await exportApp();
    const forged = makeFile();
    const change = (line: string) => line.replace('"people-list"', '"disabled"');
    writeFileSync(forged, forge(readFileSync(file, "utf8"), change));
    const { code, err } = await there.run("import-app", forged);
    expect([code, err]).toEqual([1, expect.stringContaining("must be an app archive")]);
    expect(await findApp(there, slug)).toBeUndefined();
  });
});

test("an app moves without a table whose use an operator has ended", async () => {
  const [kept, ended] = [freshName(), freshName()];
  const columns = { name: t.string().required() };
  const app = await here.service.makeApp(defineSchema({ [kept]: columns, [ended]: columns }));
  for (const table of [kept, ended]) await create(here, app, table, { name: "first" });
  await here.json("end-registration", app.slug, ended, "--yes");
  const more = { ...columns, note: t.string() };
  await here.service.pushSchema(app, defineSchema({ [kept]: more }));
  const file = makeFile();
  await here.json("export-app", app.slug, file);
  expect(await there.json("import-app", file)).toMatchObject({ rows: 1, dryRun: false });
  const moved = await openApp(there, app.slug);
  const read = async (table: string) =>
    (await there.service.call(moved, `/v1/data/db/${table}`)).json as { rows: object[] };
  expect((await read(kept)).rows).toMatchObject([{ name: "first" }]);
  expect((await read(ended)).rows ?? []).toEqual([]);
});

describe("an archive with the name of an existing app", () => {
  const OWN = "https://intranet.example.org";
  const EVIL = ["https://evil.example.org", "https://evil.example.org/cb"];
  const make = async (): Promise<{ slug: string; file: string }> => {
    const app = await here.service.makeApp(undefined, {
      origins: EVIL.slice(0, 1),
      redirects: EVIL.slice(1),
    });
    const file = makeFile();
    expect((await here.run("export-app", app.slug, file)).code).toBe(0);
    await there.json("create-app", app.slug, "--origin", OWN);
    return { slug: app.slug, file };
  };
  const listOrigins = async (slug: string) => {
    const apps = (await there.json("list-apps"))["apps"] as { slug: string }[];
    return JSON.stringify(apps.find((app) => app.slug === slug));
  };

  test("changes the app only if --into names it", async () => {
    const { slug, file } = await make();
    for (const flags of [[], ["--dry-run"], ["--as", slug]]) {
      const { code, err } = await there.run("import-app", file, ...flags);
      expect([code, err]).toEqual([1, expect.stringContaining(`App ${slug} already exists`)]);
    }
    expect(await listOrigins(slug)).not.toContain("evil");
    const kept = await there.json("import-app", file, "--into", slug);
    expect(kept).toMatchObject({ app: slug, rows: 0, targets: [] });
    expect(kept["skipped"]).toMatchObject(EVIL.map((url) => ({ url })));
    expect(await listOrigins(slug)).not.toContain("evil");
  });

  test("adds its addresses with --targets, and lists each address", async () => {
    const { slug, file } = await make();
    const flags = ["--into", slug, "--targets"];
    const dryRun = await there.run("import-app", file, ...flags, "--dry-run");
    expect(await listOrigins(slug)).not.toContain("evil");
    const { code, out } = await there.run("import-app", file, ...flags);
    expect(code).toBe(0);
    for (const text of [dryRun.out, out])
      expect(text).toContain(`  + origin ${EVIL[0]}\n  + redirect ${EVIL[1]}\n`);
    for (const url of [OWN, ...EVIL]) expect(await listOrigins(slug)).toContain(url);
  });

  test.each([
    { name: "--into of an unknown app", flags: ["--into", "unknown-app"], code: 1 },
    { name: "--into and --as", flags: ["--into", "one", "--as", "two"], code: 2 },
    { name: "--targets without --into", flags: ["--targets"], code: 2 },
  ])("is not imported with $name", async ({ flags, code }) => {
    const { slug, file } = await make();
    expect((await there.run("import-app", file, ...flags)).code).toBe(code);
    expect(await listOrigins(slug)).not.toContain("evil");
  });
});

describe("an archive with values that writes reject", () => {
  const name = freshName();
  const schema = defineSchema({
    [name]: {
      label: t.string(),
      size: t.number(),
      price: t.decimal(),
      due: t.timestamp(),
      extra: t.json(),
      token: t.uuid(),
      kind: t.enum(["a", "b"]),
    },
  });
  let text: string;
  let slug: string;
  beforeAll(async () => {
    const app = await here.service.makeApp(schema);
    slug = app.slug;
    const row = { label: "plain", size: 1e300, price: "12345678901234567890.10", extra: { a: 1 } };
    await create(here, app, name, { ...row, kind: "a", due: "0001-01-01T00:00:00Z" });
    const file = makeFile();
    await here.run("export-app", app.slug, file);
    text = readFileSync(file, "utf8");
  });
  /** The archive with another row, or with another value of a column, and correct digests. */
  const write = (change: (row: string) => string): string => {
    const file = makeFile();
    writeFileSync(
      file,
      forge(text, (line) => (line.startsWith('{"id"') ? change(line) : line)),
    );
    return file;
  };
  const writeWith = (column: string, json: string) =>
    write((row) =>
      row.replace(new RegExp(`"${column}": ("[^"]*"|\\{[^}]*\\}|[^,}]*)`), `"${column}": ${json}`),
    );

  test("imports valid values", async () => {
    expect(
      await there.json("import-app", writeWith("label", '"other"'), "--dry-run"),
    ).toMatchObject({ rows: 1 });
  });

  test.each([
    { column: "size", json: '"NaN"', message: "Must be a number" },
    { column: "size", json: '"Infinity"', message: "Must be a number" },
    { column: "size", json: "1e400", message: "exactly" },
    { column: "price", json: '"NaN"', message: "Must be a decimal" },
    { column: "due", json: '"infinity"', message: "Must be an existing date" },
    { column: "due", json: '"20000-01-01T00:00:00+00:00"', message: "Must be an existing date" },
    {
      column: "label",
      json: JSON.stringify("x".repeat(1_000_000)),
      message: "a write accepts max",
    },
    { column: "label", json: '"\\ud800"', message: "surrogate" },
    { column: "extra", json: "[".repeat(3000) + "]".repeat(3000), message: "nested deeper" },
    { column: "extra", json: "[".repeat(100_000), message: "nested deeper" },
    { column: "token", json: '"x"', message: "Must be a uuid" },
    { column: "kind", json: '"c"', message: "Must be one of" },
    { column: "id", json: '"x"', message: "must be a uuid" },
  ])("rejects another $column before any write: $message", async ({ column, json, message }) => {
    const { code, err } = await there.run("import-app", writeWith(column, json));
    expect([code, err]).toEqual([1, expect.stringContaining(message)]);
    expect(err).toContain("Nothing was written");
    expect(await findApp(there, slug)).toBeUndefined();
  });

  test.each(["x", "null", "[]", '"x"', `${"[".repeat(9_000_000)}`])(
    "rejects a row that is not an object: %.10s",
    async (row) => {
      const { code, err } = await there.run(
        "import-app",
        write(() => row),
      );
      expect([code, err]).toEqual([1, expect.stringMatching(/is not a JSON object|nested deeper/)]);
      expect(await findApp(there, slug)).toBeUndefined();
    },
  );
});

test("a file without line ends is rejected after each byte was searched once", async () => {
  const file = makeFile();
  const chunk = "x".repeat(1_000_000);
  writeFileSync(file, chunk.repeat(40));
  let searched = 0;
  const { split, indexOf } = String.prototype;
  const count = (text: unknown) => {
    if (String(text).length > 1000) searched += String(text).length;
  };
  try {
    String.prototype.split = function (this: string, ...parts: Parameters<typeof split>) {
      count(this);
      return split.apply(this, parts);
    } as typeof split;
    String.prototype.indexOf = function (this: string, ...parts: Parameters<typeof indexOf>) {
      count(this);
      return indexOf.apply(this, parts);
    };
    expect((await there.run("import-app", file)).code).toBe(1);
  } finally {
    Object.assign(String.prototype, { split, indexOf });
  }
  expect(searched).toBeGreaterThanOrEqual(40_000_000);
  expect(searched).toBeLessThan(100_000_000);
});

test("many and large rows move in batches, with references in any order", async () => {
  const [leaves, trees] = [freshName("a"), freshName("z")];
  const texts = Array.from({ length: 8 }, (_, n) => `text${n}`);
  const schema = defineSchema({
    [trees]: { name: t.string().required() },
    [leaves]: {
      tree: t.ref(trees).required(),
      next: t.ref(leaves),
      ...Object.fromEntries(texts.map((text) => [text, t.string()])),
    },
  });
  const app = await here.service.makeApp(schema);
  const tree = await create(here, app, trees, { name: "Oak" });
  // Each row refers to the row after it; two are too large for a batch with many others.
  await here.service.service.admin.message(`
    set session rowhouse.app_id = '${app.id}';
    insert into data.${leaves} (app_id, id, tree, ${texts.join(", ")})
      select '${app.id}', ('01a204b2-69e7-77e7-90ed-' || lpad(to_hex(n), 12, '0'))::uuid, '${tree}',
        ${texts.map(() => "case when n % 1200 = 0 then repeat('ä', 50000) end").join(", ")}
      from generate_series(1, 2500) as n;
    update data.${leaves} as whole set next = (select id from data.${leaves} as other
      where other.app_id = whole.app_id and other.id > whole.id order by id limit 1);
    select 1`);
  const file = makeFile();
  expect(await here.json("export-app", app.slug, file)).toMatchObject({ rows: 2501 });
  const blocks = readFileSync(file, "utf8").matchAll(/^\{"table":"\w+","rows":(\d+)\}$/gm);
  const sizes = [...blocks].map(([, size]) => Number(size));
  expect(Math.max(...sizes)).toBe(1000);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(2501);
  expect(await there.json("import-app", file)).toMatchObject({ rows: 2501 });
  const made = await openApp(there, app.slug);
  const names = { projects: leaves, todos: trees, people: trees };
  expect(await readAll(there, made, names)).toEqual(await readAll(here, app, names));
});

test("rows with circular required references are rejected before any write", async () => {
  const [one, two] = [freshName(), freshName()];
  const declare = (isRequired: boolean) => {
    const ref = (name: string) => (isRequired ? t.ref(name).required() : t.ref(name));
    return defineSchema({ [one]: { other: ref(two) }, [two]: { other: ref(one) } });
  };
  const app = await here.service.makeApp(declare(false));
  const first = await create(here, app, one, {});
  const second = await create(here, app, two, { other: first });
  const path = `/v1/data/db/${one}/${first}`;
  await here.service.call(app, path, { method: "PATCH", json: { other: second } });
  expect((await postSchema(here.service, app, declare(true))).status).toBe(200);
  const file = makeFile();
  await here.run("export-app", app.slug, file);
  const { code, err } = await there.run("import-app", file);
  expect(code).toBe(1);
  expect(err).toContain(`Cannot import tables that require each other's rows through `);
  expect(await findApp(there, app.slug)).toBeUndefined();
});

describe("before any write", () => {
  const expectNothing = async (slug: string) => expect(await findApp(there, slug)).toBeUndefined();

  test("tables that conflict with another app's tables are listed", async () => {
    const names = makeNames();
    const app = await makeApp(names);
    const owner = defineSchema({
      [names.todos]: { title: t.number() },
      [names.people]: { name: t.json() },
    });
    await there.service.makeApp(owner);
    const file = makeFile();
    await here.run("export-app", app.slug, file);
    const { code, err } = await there.run("import-app", file);
    expect(code).toBe(1);
    expect(err).toContain(names.todos);
    expect(err).toContain(names.people);
    await expectNothing(app.slug);
  });

  test("origins outside of COOKIE_DOMAIN are listed, and the import continues without them", async () => {
    const app = await here.service.makeApp(undefined, {
      origins: ["https://wiki.elsewhere.org", "https://a.b.elsewhere.org"],
      cookieDomain: "elsewhere.org",
    });
    const file = makeFile();
    await here.run("export-app", app.slug, file);
    const result = await there.json("import-app", file, "--dry-run");
    expect(result["targets"]).toEqual([]);
    expect(result["skipped"]).toMatchObject([
      { url: "https://a.b.elsewhere.org" },
      { url: "https://wiki.elsewhere.org" },
    ]);
    const { code, err } = await there.run("import-app", file);
    expect(code).toBe(0);
    expect(err).toContain("Not imported: https://wiki.elsewhere.org");
  });

  test("a changed, truncated or unrelated file is rejected", async () => {
    const names = makeNames();
    const app = await makeApp(names);
    const file = makeFile();
    await here.run("export-app", app.slug, file);
    const text = readFileSync(file, "utf8");
    const end = text.trimEnd().lastIndexOf("\n") + 1;
    const changed = [
      text.replace("Garden", "Gardes"),
      text.slice(0, -100),
      text.slice(0, end),
      text + text,
      text.replace(/\{"table".*\n.*\n/, ""),
      "{}\n",
      "",
    ];
    for (const [number, content] of changed.entries()) {
      const other = makeFile();
      writeFileSync(other, content);
      const { code, err } = await there.run("import-app", other);
      expect([number, code, err]).toEqual([number, 1, expect.stringMatching(/archive/)]);
    }
    await expectNothing(app.slug);
  });
});

test("a failed import leaves the app disabled, and names the next step", async () => {
  const names = makeNames();
  const app = await makeApp(names);
  const file = makeFile();
  await here.run("export-app", app.slug, file);
  const { service } = there;
  // At the end, the table has other rows than the archive.
  await service.service.admin.message(`
    alter function rowhouse.restore_rows(text, text[], text[], uuid, text) rename to restore_rows_kept;
    create function rowhouse.restore_rows(wanted_table text, names text[], empty text[], app uuid, lines text)
      returns void language sql as $$ select $$;
    grant execute on function rowhouse.restore_rows(text, text[], text[], uuid, text) to rowhouse_rows;
    select 1`);
  const failed = await there.run("import-app", file);
  await service.service.admin.message(`
    drop function rowhouse.restore_rows(text, text[], text[], uuid, text);
    alter function rowhouse.restore_rows_kept(text, text[], text[], uuid, text) rename to restore_rows;
    select 1`);
  expect(failed.code).toBe(1);
  expect(failed.err).toContain("differ from the archive");
  expect(failed.err).toContain(`rowhouse admin delete-app ${app.slug}`);
  expect((await there.run("list-apps")).out).toMatch(new RegExp(`${app.slug} .*disabled`));
  expect((await there.run("delete-app", app.slug, "--yes")).code).toBe(0);
  expect((await there.run("import-app", file)).code).toBe(0);
});

/** An archive with other rows, whose digests are right. */
function forge(text: string, change: (line: string) => string): string {
  const sha256 = (part: string) => new Bun.CryptoHasher("sha256").update(part).digest("hex");
  const lines = text.trimEnd().split("\n").slice(0, -1).map(change);
  const { tables } = JSON.parse(lines.pop() ?? "") as { tables: Record<string, object> };
  const rows = new Map<string, string[]>();
  for (let at = 1; at < lines.length; ) {
    const { table, rows: count } = JSON.parse(lines[at] ?? "") as { table: string; rows: number };
    rows.set(table, [...(rows.get(table) ?? []), ...lines.slice(at + 1, at + 1 + count)]);
    at += 1 + count;
  }
  for (const [table, own] of rows)
    tables[table] = { rows: own.length, sha256: sha256(own.map((line) => `${line}\n`).join("")) };
  const all = [...lines, JSON.stringify({ tables })].map((line) => `${line}\n`).join("");
  return `${all}${JSON.stringify({ sha256: sha256(all) })}\n`;
}

test.each([
  {
    name: "a dangling reference",
    change: (line: string) =>
      line.replace(/"project": "[^"]*/, '"project": "0190163d-8694-739b-aea5-966c26f8ad91'),
    err: "violates a constraint",
  },
  {
    name: "null for a required column",
    change: (line: string) => line.replace('"title": "Dig"', '"title": null'),
    err: "violates a constraint",
  },
  {
    name: "a column that the table lacks",
    change: (line: string) => line.replace('"title": "Dig"', '"titel": "Dig", "title": "Dig"'),
    err: "differ from the archive",
  },
  {
    name: "the id of another app",
    change: (line: string) =>
      line.replace(
        '"title": "Dig"',
        '"title": "Dig", "app_id": "0190163d-8694-739b-aea5-966c26f8ad91"',
      ),
    err: "differ from the archive",
  },
])("a forged archive with $name leaves the app disabled", async ({ change, err }) => {
  const names = makeNames();
  const app = await makeApp(names);
  const [file, forged] = [makeFile(), makeFile()];
  await here.run("export-app", app.slug, file);
  writeFileSync(forged, forge(readFileSync(file, "utf8"), change));
  const failed = await there.run("import-app", forged);
  expect([failed.code, failed.err]).toEqual([1, expect.stringContaining(err)]);
  expect(failed.err).not.toContain("bug in rowhouse");
  expect((await there.run("list-apps")).out).toMatch(new RegExp(`${app.slug} .*disabled`));
});

test("only the login of ROWS_DATABASE_URL reads and stores rows", async () => {
  const names = makeNames();
  const app = await makeApp(names);
  const [file, slug] = [makeFile(), `copy-${crypto.randomUUID().slice(-8)}`];
  const { adminUrl, rowsUrl } = here.service.database;
  const wrong = new URL(rowsUrl);
  wrong.username = "no_such_login";
  const run = async (words: string[], rows: string) =>
    await runHere(["admin", ...words], {
      folder: tmpdir(),
      env: { ADMIN_DATABASE_URL: adminUrl, ROWS_DATABASE_URL: rows, COOKIE_DOMAIN: "example.org" },
    });
  const exportApp = ["export-app", app.slug, file];
  const importApp = ["import-app", file, "--as", slug];
  expect((await run(exportApp, wrong.href)).err).toContain("ROWS_DATABASE_URL");
  expect((await run(exportApp, rowsUrl)).code).toBe(0);
  expect((await run(importApp, wrong.href)).err).toContain("ROWS_DATABASE_URL");
  await here.run("delete-app", slug, "--yes");
  expect((await run(importApp, rowsUrl)).code).toBe(0);
});

test("an archive never overwrites a file, and an unknown app has no archive", async () => {
  const file = makeFile();
  expect((await here.run("export-app", "no-such-app", file)).err).toContain("No app has the slug");
  writeFileSync(file, "mine");
  const app = await here.service.makeApp();
  expect((await here.run("export-app", app.slug, file)).err).toContain(
    "already exists: choose another name",
  );
  expect(readFileSync(file, "utf8")).toBe("mine");
});

test("an archive that cannot be written is an error with its reason", async () => {
  const app = await here.service.makeApp();
  const path = join(folder, "missing", "app.archive");
  const { code, err } = await here.run("export-app", app.slug, path);
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/^Cannot read or write a file: ENOENT: .*missing\/[^\n]*\n$/),
  ]);
  const document = await here.run("export-app", app.slug, path, "--json");
  expect(JSON.parse(document.out)).toMatchObject({ error: "rejected", details: [] });
});
