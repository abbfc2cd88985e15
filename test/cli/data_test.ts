/** `rowhouse data import` and `rowhouse data export`, against a service. */
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { splitList, splitObject } from "../../src/std/json_text.ts";
import { cases } from "../support/cases.ts";
import { makeProject, type Outcome, runHere, runRedirected } from "../support/command.ts";
import { openForwarder } from "../support/forwarder.ts";
import { freshName, postChange } from "../support/push.ts";
import { expectSentences } from "../support/sentences.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());
const project = await share(makeProject());

type TestTable = { app: TestApp; name: string; projects: string };

/** An app with a table of rows that refer to projects, and with a key that cannot push. */
async function makeTable(): Promise<TestTable> {
  const [name, projects] = [freshName(), freshName()];
  const app = await service.makeApp();
  await service.pushSchema(
    app,
    defineSchema({
      [projects]: { name: t.string().required().unique() },
      [name]: {
        title: t.string().required().unique(),
        size: t.number(),
        price: t.decimal(),
        tags: t.json(),
        project: t.ref(projects),
      },
    }),
  );
  return { app, name, projects };
}

const data = (app: TestApp, ...words: string[]): Promise<Outcome> =>
  runHere(["data", ...words], {
    ...project,
    env: { ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key },
  });

async function listRows(app: TestApp, name: string): Promise<Record<string, unknown>[]> {
  const { json } = await service.call(app, `/v1/data/db/${name}`);
  return (json as { rows: Record<string, unknown>[] }).rows;
}

const lines = (text: string) => text.trim().split("\n");

test("a CSV is checked, imported, and exported unchanged", async () => {
  const { app, name } = await makeTable();
  const csv = 'title,size,price,tags\r\n"a, ""b""\n=1+1",1.5,10.50,"{""a"":[1]}"\r\nc,,,\r\n';
  project.write("todos.csv", csv);
  const varies = { [name]: "<table>", [service.url]: "<service>" };
  const checked = await data(app, "import", name, "todos.csv", "--dry-run");
  expect(checked.code).toBe(0);
  expectSentences(checked.out, { names: ["2 rows", name], varies });
  expect(checked.err).toBe("");
  expect(await listRows(app, name)).toEqual([]);
  const stored = await data(app, "import", name, "todos.csv");
  expect(stored).toEqual({ code: 0, out: `Stored 2 rows in ${name}\n`, err: expect.any(String) });
  expect(await listRows(app, name)).toMatchObject([
    { title: 'a, "b"\n=1+1', size: 1.5, price: "10.50", tags: { a: [1] } },
    { title: "c", size: null, price: null, tags: null },
  ]);
  const exported = await data(app, "export", name);
  const [first, second] = await listRows(app, name);
  expect(exported.out).toBe(
    `id,title,size,price,tags,project\r\n${first?.["id"]},"a, ""b""\n=1+1",1.5,10.50,"{""a"":[1]}",\r\n${second?.["id"]},c,,,,\r\n`,
  );
  const inert = await data(app, "export", name, "--spreadsheet");
  expect(inert.out).toContain(`"a, ""b""\n'=1+1"`);
  const ndjson = await data(app, "export", name, "--format", "ndjson");
  expect(lines(ndjson.out).map((line) => JSON.parse(line))).toEqual(
    [first, second].map(({ app_id: _, ...row } = {}) => row),
  );
});

test("all errors are listed by line, and nothing is stored", async () => {
  const { app, name } = await makeTable();
  project.write("bad.csv", "title,size,price\na,x,1e3\n,1,\nb,1,1\n");
  const { code, out, err } = await data(app, "import", name, "bad.csv");
  expect([code, out]).toEqual([1, ""]);
  expect(err.match(/^bad\.csv:\d+: \w+: /gm)).toEqual([
    "bad.csv:2: size: ",
    "bad.csv:2: price: ",
    "bad.csv:3: title: ",
  ]);
  expectSentences(err, { names: ["bad.csv has 3 errors"], varies: { [service.url]: "<service>" } });
  const document = JSON.parse((await data(app, "import", name, "bad.csv", "--json")).out);
  expect(document).toMatchObject({
    error: "validation_failed",
    details: [{ path: "/2/size" }, {}, {}],
  });
  expect(await listRows(app, name)).toEqual([]);
});

test("an error of many lines is printed once, with its first lines", async () => {
  const { app, name } = await makeTable();
  const rows = Array.from({ length: 500 }, (_, index) => `t${index},x\n`).join("");
  project.write("many.csv", `title,size\n${rows}`);
  const { code, err } = await data(app, "import", name, "many.csv");
  expect(code).toBe(1);
  expect(err.match(/^many\.csv:.*$/gm)).toHaveLength(1);
  expectSentences(err, {
    names: ["many.csv:2: size: ", "500 lines: 2, 3, ", "480 more", "500 errors"],
    varies: { [service.url]: "<service>" },
  });
});

describe("days of spreadsheets", () => {
  const importDays = async (days: readonly string[], ...flags: string[]) => {
    const table = freshName();
    const app = await service.makeApp();
    await service.pushSchema(app, defineSchema({ [table]: { day: t.date(), n: t.integer() } }));
    project.write("days.csv", `day;n\n${days.map((day) => `${day};1\n`).join("")}`);
    const outcome = await data(app, "import", table, "days.csv", ...flags);
    return { ...outcome, days: (await listRows(app, table)).map(({ day }) => day) };
  };

  test("are read in the order that a day above 12 shows, which the command says first", async () => {
    const { code, err, days } = await importDays(["02.04.2026", "29.09.2025"]);
    expect([code, days]).toEqual([0, ["2026-04-02", "2025-09-29"]]);
    expectSentences(err, {
      names: ["day.month.year", "29.09.2025", "--dates"],
      varies: { [service.url]: "<service>" },
    });
  });

  test("are read in the chosen order", async () => {
    const { days } = await importDays(["02/04/2026"], "--dates", "mdy");
    expect(days).toEqual(["2026-02-04"]);
    expect((await importDays([], "--dates", "ymd")).code).toBe(2);
  });

  test.each([
    { name: "show no order", texts: ["02.04.2026", "1/10/26"] },
    { name: "contradict each other", texts: ["13.01.2026", "01/13/2026"] },
  ])("are rejected with the choice if they $name", async ({ texts }) => {
    const { code, err, days } = await importDays(texts);
    expect([code, days]).toEqual([1, []]);
    expectSentences(err, {
      names: ["days.csv:2: day: ", "--dates dmy", "mdy"],
      varies: { [service.url]: "<service>" },
    });
  });
});

test("a name in --map that the file lacks is an error with a similar name", async () => {
  const { app, name } = await makeTable();
  project.write("map.csv", "title,Betrag (EUR)\na,1\n");
  project.write("map.ndjson", '{"title":"a","Betrag (EUR)":"1"}\n');
  const flags = ["--map", "Betrag(EUR)=price", "--skip", "Betrag (EUR)"];
  for (const file of ["map.csv", "map.ndjson"]) {
    const { code, err } = await data(app, "import", name, file, ...flags);
    expect(code).toBe(1);
    expect(err).toContain('"Betrag(EUR)" is mapped to a column');
    expect(err).toContain('perhaps "Betrag (EUR)"');
  }
  expect(await listRows(app, name)).toEqual([]);
});

test("an export for spreadsheets has a byte order mark, and is imported to the same values", async () => {
  const { app, name } = await makeTable();
  const titles = ["+49 30 1234567", "'quoted", "Größe, 東京", "-1.5", "=1;\n'=2"];
  const json = titles.map((title) => ({ title }));
  expect((await service.call(app, `/v1/data/db/${name}`, { method: "POST", json })).status).toBe(
    201,
  );
  const words = ["--spreadsheet", "--output", "sheet.csv"];
  expect(await data(app, "export", name, ...words)).toEqual({
    code: 0,
    out: `Wrote 5 rows of ${name} to sheet.csv\n`,
    err: "",
  });
  const bytes = await Bun.file(join(project.folder, "sheet.csv")).bytes();
  expect([...bytes.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
  // Another program that saves the file loses the mark of the export.
  const saved = Buffer.from(bytes)
    .toString()
    .replace("\uFEFF", "")
    .replace(/^"([\w-]{36})"/m, "$1");
  project.write("saved.csv", saved);
  for (const [file, ...flags] of [["sheet.csv"], ["saved.csv", "--spreadsheet"]]) {
    const copy = await makeTable();
    const { code } = await data(copy.app, "import", copy.name, file ?? "", ...flags);
    expect(code).toBe(0);
    const rows = await listRows(copy.app, copy.name);
    expect(rows.map(({ title }) => title)).toEqual(titles);
  }
  const exact = await makeTable();
  expect((await data(exact.app, "import", exact.name, "saved.csv")).code).toBe(0);
  expect((await listRows(exact.app, exact.name)).map(({ title }) => title)).toContain("''quoted");
});

describe("data export --output", () => {
  test("replaces a file only if the export is complete", async () => {
    const { app, name } = await makeTable();
    project.write("rows.csv", "before");
    const { code } = await data(
      { ...app, key: "rh_wrong" },
      "export",
      name,
      "--output",
      "rows.csv",
    );
    expect(code).not.toBe(0);
    expect(await Bun.file(join(project.folder, "rows.csv")).text()).toBe("before");
    expect((await data(app, "export", name, "--output", "rows.csv")).code).toBe(0);
    expect(await Bun.file(join(project.folder, "rows.csv")).text()).toBe(
      "id,title,size,price,tags,project\r\n",
    );
    expect(readdirSync(project.folder).filter((file) => file.includes("rows.csv"))).toEqual([
      "rows.csv",
    ]);
  });

  test("names a file that cannot be written", async () => {
    const { app, name } = await makeTable();
    const missing = await data(app, "export", name, "--output", "no/rows.csv");
    expect([missing.code, missing.out]).toEqual([1, ""]);
    expectSentences(missing.err, { names: ["no/rows.csv", "ENOENT"] });
    await service.call(app, `/v1/data/db/${name}`, { method: "POST", json: { title: "a" } });
    const full = await data(app, "export", name, "--output", "/dev/full");
    expect(full.code).toBe(1);
    expectSentences(full.err, { names: ["/dev/full", "ENOSPC"] });
  });
});

test("a file in a named encoding is imported, and an unknown encoding is an error", async () => {
  const { app, name } = await makeTable();
  await Bun.write(
    join(project.folder, "german.csv"),
    Buffer.from("title;size\r\nGröße;1,5\r\n;\r\n", "latin1"),
  );
  const words = ["import", name, "german.csv"];
  const undecided = await data(app, ...words);
  expectSentences(undecided.err, {
    names: ["german.csv", "windows-1252"],
    varies: { [service.url]: "<service>" },
  });
  expect(await data(app, ...words, "--encoding", "klingon")).toMatchObject({ code: 2 });
  expect((await data(app, ...words, "--encoding", "windows-1252")).out).toBe(
    `Stored 1 row in ${name}\n`,
  );
  expect(await listRows(app, name)).toMatchObject([{ title: "Größe", size: 1.5 }]);
});

test("a column without a name is skipped by its position", async () => {
  const { app, name } = await makeTable();
  project.write("index.csv", ",title,size,,\n0,Dig,1,,\n");
  const { err } = await data(app, "import", name, "index.csv");
  expectSentences(err, { names: ["index.csv:2: ", "#1"], varies: { [service.url]: "<service>" } });
  expect((await data(app, "import", name, "index.csv", "--skip", "#1")).code).toBe(0);
  expect(await listRows(app, name)).toMatchObject([{ title: "Dig", size: 1 }]);
});

test("an import stops if a column of the file is renamed during it", async () => {
  const { app, name } = await makeTable();
  const titles = Array.from({ length: 3000 }, (_, n) => `${n},${n}`);
  project.write("renamed.csv", `title,size\n${titles.join("\n")}\n`);
  const change = { kind: "rename_column", table: name, column: "size", to: "amount" };
  let isRenamed = false;
  // Renames the column after the first batch.
  const proxy = openForwarder(service.url, {
    after: async (response, { method }) => {
      if (method === "POST" && !isRenamed) {
        isRenamed = true;
        expect((await postChange(service, app, change)).status).toBe(200);
      }
      return response;
    },
  });
  const env = { ROWHOUSE_URL: `http://127.0.0.1:${proxy.port}`, ROWHOUSE_API_KEY: app.key };
  const stopped = await runHere(["data", "import", name, "renamed.csv"], { ...project, env });
  await proxy.stop(true);
  expect(stopped.code).toBe(1);
  expectSentences(stopped.err, {
    names: [name, "size", "2000 rows", "line 1002", "line 2001", "--from-line 2002"],
    varies: { [name]: "<table>", [env.ROWHOUSE_URL]: "<service>" },
  });
});

test("a file that is not UTF-8 is an error", async () => {
  const { app, name } = await makeTable();
  project.write("latin.csv", "");
  await Bun.write(
    join(project.folder, "latin.csv"),
    new Uint8Array([...Buffer.from("title\na\n"), 0xe4]),
  );
  const { code, err } = await data(app, "import", name, "latin.csv");
  expect(code).toBe(1);
  expectSentences(err, { names: ["latin.csv", "UTF-8"], varies: { [service.url]: "<service>" } });
});

test("references are matched by a unique column", async () => {
  const { app, name, projects } = await makeTable();
  project.write("projects.ndjson", '{"name":"Garden"}\n{"name":"House"}\n');
  expect((await data(app, "import", projects, "projects.ndjson")).code).toBe(0);
  const [garden, house] = await listRows(app, projects);
  const match = ["--match", `project=${projects}.name`];
  project.write(
    "todos.ndjson",
    '[{"title":"a","project":"House"},{"title":"b","project":"Garden"},{"title":"c"}]',
  );
  expect((await data(app, "import", name, "todos.ndjson", ...match)).code).toBe(0);
  expect(await listRows(app, name)).toMatchObject([
    { title: "a", project: house?.["id"] },
    { title: "b", project: garden?.["id"] },
    { title: "c", project: null },
  ]);
  project.write("more.csv", "title,project\nd,Cellar\n");
  const { err } = await data(app, "import", name, "more.csv", ...match);
  const varies = { [projects]: "<table>", [service.url]: "<service>" };
  expectSentences(err, { names: ["more.csv:2: project: ", '"Cellar"', "name"], varies });
  const wrong = await data(app, "import", name, "more.csv", "--match", `title=${projects}.name`);
  expect(wrong.code).toBe(2);
  expectSentences(wrong.err, { names: ["title"], varies: { ...varies, [name]: "<table>" } });
});

describe("an export", () => {
  async function exportTo(redirection: string): Promise<Outcome> {
    const { app, name } = await makeTable();
    await service.call(app, `/v1/data/db/${name}`, {
      method: "POST",
      json: Array.from({ length: 800 }, (_, at) => ({ title: `${at}`.padEnd(100) })),
    });
    const env = { ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key };
    return await runRedirected(["data", "export", name], redirection, { ...project, env });
  }

  test("fails if it cannot be written completely", async () => {
    const { code, out, err } = await exportTo("> /dev/full");
    expect([code, out]).toEqual([1, ""]);
    expectSentences(err, { names: ["ENOSPC"] });
  });

  test("ends without an error if its reader ends", async () => {
    const out = "id,title,size,price,tags,project\r\n";
    expect(await exportTo("| head -n 1")).toEqual({ code: 0, out, err: "" });
  });
});

describe("a repeated import", () => {
  /** 2,500 rows: three batches. */
  const rows = Array.from({ length: 2500 }, (_, index) => `t${index},${index}`);

  test("stores each row once", async () => {
    const { app, name } = await makeTable();
    project.write("many.csv", ["title,size", ...rows].join("\n"));
    expect((await data(app, "import", name, "many.csv")).out).toBe(`Stored 2500 rows in ${name}\n`);
    expectSentences((await data(app, "import", name, "many.csv")).out, {
      names: ["2500 rows", "2500 of them", "--again"],
      varies: { [name]: "<table>" },
    });
    const exported = lines((await data(app, "export", name)).out);
    expect(exported).toHaveLength(2501);
    expect(exported.slice(1).map((line) => line.split(",")[1])).toEqual(
      rows.map((_, at) => `t${at}`),
    );
  });

  test("continues after a row that the database rejects, at the reported line", async () => {
    const { app, name } = await makeTable();
    const json = { title: "taken" };
    await service.call(app, `/v1/data/db/${name}`, { method: "POST", json });
    const broken = rows.with(1500, "taken,0");
    project.write("broken.csv", ["title,size", ...broken].join("\n"));
    const { code, err } = await data(app, "import", name, "broken.csv");
    expect(code).toBe(1);
    expectSentences(err, {
      names: ["broken.csv:1502: title: ", "--from-line 1002"],
      varies: { [service.url]: "<service>" },
    });
    project.write("broken.csv", ["title,size", ...rows].join("\n"));
    const rest = await data(app, "import", name, "broken.csv", "--from-line", "1002");
    expect(rest.out).toBe(`Stored 1500 rows in ${name}\n`);
    expect(lines((await data(app, "export", name)).out)).toHaveLength(2502);
  });

  test("stores rows a second time with --again", async () => {
    const { app, projects } = await makeTable();
    project.write("again.csv", "name\na\n");
    expect((await data(app, "import", projects, "again.csv")).code).toBe(0);
    const [row] = await listRows(app, projects);
    const path = `/v1/data/db/${projects}/${row?.["id"]}`;
    await service.call(app, path, { method: "DELETE" });
    const { out } = await data(app, "import", projects, "again.csv", "--again");
    expect(out).toBe(`Stored 1 row in ${projects}\n`);
    expect(await listRows(app, projects)).toHaveLength(1);
  });

  test("with another mapping is rejected", async () => {
    const { app, name } = await makeTable();
    project.write("once.csv", "title,size\na,1\n");
    expect((await data(app, "import", name, "once.csv")).code).toBe(0);
    const { code, err } = await data(app, "import", name, "once.csv", "--skip", "size");
    expect(code).toBe(1);
    expectSentences(err, {
      names: ["0 rows", "line 2", "--from-line 2"],
      varies: { [service.url]: "<service>", [name]: "<table>" },
    });
    expect(await listRows(app, name)).toHaveLength(1);
  });
});

test("batches of large rows have fewer than 1,000 rows, and a row above the request limit is an error", async () => {
  const { app, name } = await makeTable();
  const wide = Array.from({ length: 30 }, (_, index) => `t${index}${"ä".repeat(10_000)},1`);
  project.write("wide.csv", ["title,size", ...wide].join("\n"));
  expect(JSON.parse((await data(app, "import", name, "wide.csv", "--json")).out)).toEqual({
    table: name,
    rows: 30,
    batches: 6,
    replayed: 0,
    dryRun: false,
  });
  project.write("huge.csv", `title\nx${"a".repeat(102_400)}\n`);
  const { err } = await data(app, "import", name, "huge.csv");
  expectSentences(err, {
    names: ["huge.csv:2: ", "102400"],
    varies: { [service.url]: "<service>" },
  });
});

test.each(cases("name", "words", "names")`
  a table that the app lacks                 | import nothing a.csv           | "nothing"
  a file that does not exist                 | import TABLE no.csv            | no.csv
  a format that the file name does not state | import TABLE a.xlsx            | a.xlsx, --format
  a mapping to an unknown column             | import TABLE a.csv --map a=b | "b"
  an export of a table that the app lacks    | export nothing                  | "nothing"
`)("$name is an error with its reason", async ({ words, names }) => {
  const { app, name } = await makeTable();
  project.write("a.csv", "title\na\n");
  project.write("empty.csv", "");
  const outcome = await data(app, ...words.replace("TABLE", name).split(" "));
  expect(outcome.code).not.toBe(0);
  expectSentences(outcome.err, {
    names: names.split(", "),
    hides: [app.key],
    varies: { [name]: "<table>", [service.url]: "<service>" },
  });
});

test("a key without the scope is rejected, and nothing is stored", async () => {
  const name = freshName();
  const reader = await service.makeApp(undefined, { scopes: ["data:read"] });
  await service.pushSchema(reader, defineSchema({ [name]: { title: t.string() } }));
  project.write("a.csv", "title\na\n");
  const { code, err } = await data(reader, "import", name, "a.csv");
  expect(code).toBe(1);
  expect(err).toContain("data:write");
  expect(await listRows(reader, name)).toEqual([]);
});

test("an export has the digits and the order of the endpoints", async () => {
  const { app, name } = await makeTable();
  await service.call(app, `/v1/data/db/${name}`, { method: "POST", json: { title: "a\rb" } });
  await service.service.admin.message(
    `set session rowhouse.app_id = '${app.id}'; update data.${name} set size = 12345678901234567890, tags = '{"n": 12345678901234567890, "2": 0.10}'; select 1`,
  );
  const { text } = await service.call(app, `/v1/data/db/${name}`);
  const row = splitObject(splitList(splitObject(text).get("rows") ?? "")[0] ?? "{}");
  const [tags = "", size] = [row.get("tags"), row.get("size")];
  expect(tags).toContain("12345678901234567890");
  const csv = await data(app, "export", name);
  expect(csv.out).toContain(
    `"a\rb",${size},,"${tags.replaceAll(" ", "").replaceAll('"', '""')}",\r\n`,
  );
  const ndjson = await data(app, "export", name, "--format", "ndjson");
  expect(ndjson.out).toContain(`"title":"a\\rb","size":${size},"price":null,"tags":${tags}`);
});
