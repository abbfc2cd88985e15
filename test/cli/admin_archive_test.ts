/** `rowhouse admin export-app` and `import-app`: an app in a file, and with the same ids in the same or another service. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { planSettings } from "../../src/archive/mod.ts";
import { ANCHOR } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { type Admin, openAdmin } from "../support/admin.ts";
import {
  BOSS,
  create,
  findApp,
  forge,
  makeArchivedApp,
  makeNames,
  openApp,
  openArchives,
  readAll,
} from "../support/archives.ts";
import { citusUrl } from "../support/citus.ts";
import { runHere } from "../support/command.ts";
import { makePerson } from "../support/people.ts";
import { freshName, postSchema } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const isOnCitus = citusUrl() !== undefined;
const archives = await share(openArchives());
const { here, there } = archives;

const makeFile = () => archives.makeFile();
/** Exports an app, and returns the file. */
async function exportApp({ slug }: { slug: string }, from: Admin = here): Promise<string> {
  const file = makeFile();
  expect((await from.run("export-app", slug, file)).code).toBe(0);
  return file;
}
const copySlug = () => `copy-${crypto.randomUUID().slice(-8)}`;
const REJECTED = [1, expect.stringContaining("must be an app archive")];

test("an app moves to another service with its ids, migrations and origins, and works there", async () => {
  const names = makeNames();
  const app = await makeArchivedApp(here, names);
  const more = defineSchema({
    [names.people]: {
      name: t.string().required(),
      boss: t.ref(names.people, BOSS),
      note: t.string(),
    },
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
  const app = await makeArchivedApp(here, names);
  const file = await exportApp(app);
  const slug = copySlug();
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
  await here.run("set-app", app.slug, "disabled", "on");
  const file = await exportApp(app);
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

test("an app with tables named as parts of JavaScript's objects is copied within its service", async () => {
  const names = ["constructor", "prototype"];
  const tables = names.map((name) => [name, { x: t.string() }]);
  const app = await here.service.makeApp(defineSchema(Object.fromEntries(tables)));
  for (const name of names) await create(here, app, name, { x: name });
  const file = await exportApp(app);
  const slug = copySlug();
  const imported = await here.run("import-app", file, "--as", slug);
  expect([imported.code, imported.err]).toEqual([0, expect.stringContaining("Next: ")]);
  const copy = await openApp(here, slug);
  for (const name of names) {
    const { json } = await here.service.call(copy, `/v1/data/db/${name}`);
    expect(json).toMatchObject({ rows: [{ x: name }] });
  }
});

describe("settings of an app", () => {
  let live: Admin;
  beforeAll(async () => {
    live = await openAdmin({}, { service: { previews: ["live"] } });
  });
  afterAll(() => live.close());

  async function exportSet(): Promise<{ slug: string; file: string }> {
    const { slug } = await live.service.makeApp();
    await live.json("set-limit", slug, "--per-minute", "6000", "--per-key", "600");
    if (!isOnCitus) await live.json("set-app", slug, "live", "on");
    await live.json("set-app", slug, "people-list", "on");
    return { slug, file: await exportApp({ slug }, live) };
  }
  async function readSettings(admin: Admin, slug: string): Promise<unknown> {
    const text = readFileSync(await exportApp({ slug }, admin), "utf8");
    const { limits, on } = JSON.parse(text.split("\n")[0] ?? "");
    return { ...limits, on };
  }
  /** The outcome of importing an archive after a change of its first line. */
  async function importForged(file: string, change: (line: string) => string) {
    const forged = makeFile();
    writeFileSync(forged, forge(readFileSync(file, "utf8"), change));
    const { code, err } = await there.run("import-app", forged);
    return [code, err];
  }

  test.skipIf(isOnCitus)(
    "limits and live updates are imported, and the list of people is reported as not imported",
    async () => {
      const { file } = await exportSet();
      const slug = copySlug();
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

  test.skipIf(isOnCitus)("live updates are imported, whatever PREVIEW is", async () => {
    const { slug, file } = await exportSet();
    expect((await there.json("import-app", file))["settings"]).toEqual({
      limits: { perMinute: 6000, perMinuteOfKey: 600 },
      on: ["live"],
      skipped: [
        { setting: "peopleList", reason: `use rowhouse admin set-app ${slug} people-list on` },
      ],
    });
  });

  test.skipIf(isOnCitus)("the history of rows stays behind, and is reported", async () => {
    const name = freshName();
    await using kept = await openAdmin({}, { service: { previews: ["history"] } });
    const app = await kept.service.makeApp(defineSchema({ [name]: { title: t.string() } }));
    await kept.json("set-app", app.slug, "history", "on");
    const id = await create(kept, app, name, { title: "title before" });
    const patch = { method: "PATCH", json: { title: "title now" } };
    await kept.service.call(app, `/v1/data/db/${name}/${id}`, patch);
    const file = await exportApp(app, kept);
    const text = readFileSync(file, "utf8");
    expect([text.includes("title now"), text.includes("title before")]).toEqual([true, false]);
    const slug = `${app.slug}-copy`;
    expect((await kept.json("import-app", file, "--as", slug))["settings"]).toMatchObject({
      skipped: [{ setting: "history", reason: `use rowhouse admin set-app ${slug} history on` }],
    });
    const counts = "select count(*)::int as changes, count(distinct app_id)::int as apps";
    const [stored] = await kept.service.service.admin.message(
      `${counts} from rowhouse.row_changes`,
    );
    expect(stored).toEqual({ changes: 1, apps: 1 });
  });

  test("an existing app keeps its limits", async () => {
    const { slug, file } = await exportSet();
    await there.json("create-app", slug);
    await there.json("set-limit", slug, "--per-minute", "60");
    const { err } = await there.run("import-app", file, "--into", slug);
    expect(err).toContain(`Not imported: limits (${slug} has its own limits)`);
    expect(await readSettings(there, slug)).toMatchObject({ perMinute: 60, perMinuteOfKey: null });
  });

  test.each([0, -1, 1.5, 100_000_001, "6000"])(
    "a forged archive with a limit of %p is rejected",
    async (limit) => {
      const { slug, file } = await exportSet();
      const change = (line: string) => line.replace("6000", JSON.stringify(limit));
      expect(await importForged(file, change)).toEqual(REJECTED);
      expect(await findApp(there, slug)).toBeUndefined();
    },
  );

  test("a forged archive cannot turn on a setting that no archive names", async () => {
    const { slug, file } = await exportSet();
    const change = (line: string) => line.replace('"people-list"', '"disabled"');
    expect(await importForged(file, change)).toEqual(REJECTED);
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
  const file = await exportApp(app);
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
    const file = await exportApp(app);
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
  const toId = (n: string) => `('01a204b2-69e7-77e7-90ed-' || lpad(to_hex(${n}), 12, '0'))::uuid`;
  // Each row refers to the row after it; two are too large for a batch with many others.
  await here.service.service.admin.message(`
    set session rowhouse.app_id = '${app.id}';
    insert into data.${leaves} (app_id, id, tree, next, ${texts.join(", ")})
      select '${app.id}', ${toId("n")}, '${tree}', case when n < 1300 then ${toId("n + 1")} end,
        ${texts.map(() => "case when n in (1100, 1250) then repeat('ä', 50000) end").join(", ")}
      from generate_series(1, 1300) as n;
    select 1`);
  const file = makeFile();
  expect(await here.json("export-app", app.slug, file)).toMatchObject({ rows: 1301 });
  const blocks = readFileSync(file, "utf8").matchAll(/^\{"table":"\w+","rows":(\d+)\}$/gm);
  const sizes = [...blocks].map(([, size]) => Number(size));
  expect(Math.max(...sizes)).toBe(1000);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(1301);
  expect(await there.json("import-app", file)).toMatchObject({ rows: 1301 });
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
  const file = await exportApp(app);
  const { code, err } = await there.run("import-app", file);
  expect(code).toBe(1);
  expect(err).toContain(`Cannot import tables that require each other's rows through `);
  expect(await findApp(there, app.slug)).toBeUndefined();
});

describe("before any write", () => {
  const expectNothing = async (slug: string) => expect(await findApp(there, slug)).toBeUndefined();

  test("tables that conflict with another app's tables are listed", async () => {
    const names = makeNames();
    const app = await makeArchivedApp(here, names);
    const owner = defineSchema({
      [names.todos]: { title: t.number() },
      [names.people]: { name: t.json() },
    });
    await there.service.makeApp(owner);
    const file = await exportApp(app);
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
    const file = await exportApp(app);
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
    const app = await makeArchivedApp(here, names);
    const file = await exportApp(app);
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
  const app = await makeArchivedApp(here, names);
  const file = await exportApp(app);
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

test("only the login of ROWS_DATABASE_URL reads and stores rows", async () => {
  const names = makeNames();
  const app = await makeArchivedApp(here, names);
  const [file, slug] = [makeFile(), copySlug()];
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
  const path = join(archives.folder, "missing", "app.archive");
  const { code, err } = await here.run("export-app", app.slug, path);
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/^Cannot read or write a file: ENOENT: .*missing\/[^\n]*\n$/),
  ]);
  const document = await here.run("export-app", app.slug, path, "--json");
  expect(JSON.parse(document.out)).toMatchObject({ error: "rejected", details: [] });
});
