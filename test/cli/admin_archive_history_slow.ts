/** `rowhouse admin import-app` of apps whose tables and histories changed in another way than elsewhere. */
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { type Change, readDrift } from "../../src/tables/mod.ts";
import type { Admin } from "../support/admin.ts";
import { create, findApp, forge, openApp, openArchives, readAll } from "../support/archives.ts";
import { makeProject, runHere, schemaText } from "../support/command.ts";
import { makeHistory, postMigrations } from "../support/history.ts";
import { freshName, postSchema } from "../support/push.ts";
import type { TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";
import { isFull } from "../support/tier.ts";

const archives = await share(openArchives());
const { here, there } = archives;

const makeFile = () => archives.makeFile();

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

  const CASES = CHANGES.flatMap((row, index) =>
    [0, 1].map((after) => ({ ...row, after, service: (index + after) % 2 })),
  );

  test.each(CASES)(
    "$name, with $after later migrations, does not prevent an import",
    async ({ after, service, ...row }) => {
      const { app, names, file, now } = await exportApp(row, after);
      const services = [here, there];
      // A reduced run imports each change once on either service, and so with either number of later migrations.
      for (const admin of isFull() ? services : services.slice(service, service + 1)) {
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
      expect([code, text]).toEqual([409, expect.stringContaining('does not declare \\"paused\\"')]);
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
    { name: "moves after a push", columns: `${JOINED}, more: t.string()`, words: () => ["push"] },
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
