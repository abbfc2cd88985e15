/** `rowhouse data import --update-by`: a table gets the values of a file. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeProject, type Outcome, runHere } from "../support/command.ts";
import { openForwarder } from "../support/forwarder.ts";
import { freshName, postChange } from "../support/push.ts";
import { expectSentences } from "../support/sentences.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ service: { previews: ["filters"] } }));
const project = await share(makeProject());

type TestTable = { app: TestApp; name: string; flights: string };
type Row = Record<string, unknown>;

async function makeTable(open = service): Promise<TestTable> {
  const [name, flights] = [freshName(), freshName()];
  const app = await open.makeApp();
  await open.pushSchema(
    app,
    defineSchema({
      [name]: {
        iata: t.string().unique(),
        name: t.string().required(),
        size: t.decimal(),
        opened: t.timestamp(),
        country: t.string(),
        hub: t.boolean().required().default(false),
      },
      [flights]: { airport: t.ref(name).required() },
    }),
  );
  return { app, name, flights };
}

const sync = (app: TestApp, words: readonly string[], url = service.url): Promise<Outcome> =>
  runHere(["data", "import", ...words], {
    ...project,
    env: { ROWHOUSE_URL: url, ROWHOUSE_API_KEY: app.key },
  });

async function post(app: TestApp, name: string, json: unknown): Promise<void> {
  const { status } = await service.call(app, `/v1/data/db/${name}`, { method: "POST", json });
  expect(status).toBe(201);
}

async function listRows(app: TestApp, name: string): Promise<Row[]> {
  const { json } = await service.call(app, `/v1/data/db/${name}`);
  return (json as { rows: Row[] }).rows;
}

const byKey = (rows: readonly Row[]) =>
  new Map(rows.map(({ app_id: _, ...row }) => [row["iata"], row]));

const HEADER = "iata,name,size,opened\n";
const BERLIN = "BER,Berlin,4.0,2020-10-31T00:00:00Z\n";

/** Six rows of which BER and four others are as in the file. */
async function fill({ app, name }: TestTable): Promise<void> {
  const filler = ["ZRH", "OSL", "ARN", "HEL"].map((iata) => ({ iata, name: iata }));
  await post(app, name, [
    {
      iata: "BER",
      name: "Berlin",
      size: "4.00",
      opened: "2020-10-31T01:00:00+01:00",
      country: "DE",
    },
    { iata: "MUC", name: "Munich", size: "1.5", country: "DE", hub: true },
    { iata: "TXL", name: "Tegel" },
    ...filler,
  ]);
}
const FILLED = "ZRH,ZRH,,\nOSL,OSL,,\nARN,ARN,,\nHEL,HEL,,\n";

test("creates, changes, leaves and deletes rows, and writes nothing the second time", async () => {
  const table = await makeTable();
  const { app, name } = table;
  await fill(table);
  const before = byKey(await listRows(app, name));
  project.write("airports.csv", `${HEADER}${BERLIN}MUC,München,2,\nCDG,Paris,,\n${FILLED}`);
  const words = [name, "airports.csv", "--update-by", "iata", "--delete-missing", "--json"];
  const counts = {
    table: name,
    rows: 7,
    created: 1,
    updated: 1,
    unchanged: 5,
    deleted: 1,
    left: 0,
  };
  const dry = await sync(app, [...words, "--dry-run"]);
  expect(JSON.parse(dry.out)).toEqual({ ...counts, dryRun: true });
  expect(byKey(await listRows(app, name))).toEqual(before);
  const asked = await sync(app, words);
  expect(asked.code).toBe(1);
  expectSentences(asked.err, {
    names: ["1 row", "--yes", name],
    varies: { [service.url]: "<service>", [name]: "<table>" },
  });
  expect(byKey(await listRows(app, name))).toEqual(before);
  const done = await sync(app, [...words, "--yes"]);
  expect(JSON.parse(done.out)).toEqual({ ...counts, dryRun: false });
  const after = byKey(await listRows(app, name));
  expect([...after.keys()].sort()).toEqual(["ARN", "BER", "CDG", "HEL", "MUC", "OSL", "ZRH"]);
  expect(after.get("BER")).toEqual(before.get("BER"));
  expect(after.get("MUC")).toEqual({ ...before.get("MUC"), name: "München", size: "2" });
  expect(after.get("CDG")).toMatchObject({ name: "Paris", size: null, hub: false });
  const again = await sync(app, words);
  expect(JSON.parse(again.out)).toEqual({
    ...{ ...counts, created: 0, updated: 0, unchanged: 7, deleted: 0 },
    dryRun: false,
  });
});

test("rows that the file does not have stay without --delete-missing", async () => {
  const table = await makeTable();
  await fill(table);
  project.write("some.csv", `${HEADER}${BERLIN}`);
  const done = await sync(table.app, [table.name, "some.csv", "--update-by", "iata"]);
  expect(done).toMatchObject({
    code: 0,
    out: `Created 0, changed 0, left 1 and deleted 0 rows of ${table.name}\n`,
  });
  expect(await listRows(table.app, table.name)).toHaveLength(7);
});

test("a file that would delete more than a fifth of the rows needs --accept-deletes", async () => {
  const table = await makeTable();
  const { app, name } = table;
  await fill(table);
  const words = ["--update-by", "iata", "--delete-missing"];
  for (const [file, text] of [
    ["short.csv", `${HEADER}${BERLIN}${FILLED}`],
    ["empty.csv", HEADER],
  ] as const) {
    project.write(file, text);
    const { code, err } = await sync(app, [name, file, ...words, "--yes"]);
    expect(code).toBe(1);
    expectSentences(err, {
      names: ["of 7 rows", "--accept-deletes"],
      varies: { [service.url]: "<service>", [name]: "<table>" },
    });
    expect(await listRows(app, name)).toHaveLength(7);
  }
  expect((await sync(app, [name, "empty.csv", ...words, "--accept-deletes"])).code).toBe(0);
  expect(await listRows(app, name)).toEqual([]);
});

test("rows without a key, equal keys, and columns that are not unique are errors", async () => {
  const { app, name } = await makeTable();
  project.write("bad.csv", `${HEADER}AAA,a,,\n,b,,\nAAA,c,,\nAAA,d,,\n`);
  const { code, err } = await sync(app, [name, "bad.csv", "--update-by", "iata"]);
  expect(code).toBe(1);
  expect(err.match(/^bad\.csv:4: iata: .* \(2 lines: 4, 5\)$/gm)).toHaveLength(1);
  project.write("null.csv", `${HEADER}AAA,a,,\n,b,,\n`);
  const empty = await sync(app, [name, "null.csv", "--update-by", "iata"]);
  expect(empty.code).toBe(1);
  expect(empty.err).toContain("null.csv:3: iata: ");
  expect(await listRows(app, name)).toEqual([]);
  for (const flags of [
    ["--update-by", "name"],
    ["--update-by", "iata,name"],
    ["--delete-missing"],
    ["--update-by", "iata", "--from-line", "2"],
    ["--update-by", "iata", "--again"],
  ])
    expect((await sync(app, [name, "null.csv", ...flags])).code).toBe(2);
});

test("a file without a required column changes rows that exist, and creates none", async () => {
  const table = await makeTable();
  const { app, name } = table;
  await fill(table);
  project.write("sizes.csv", "iata,size\nMUC,9\nBER,4\nTXL,7\n");
  const words = [name, "sizes.csv", "--update-by", "iata", "--json"];
  const { code, out } = await sync(app, words);
  expect([code, JSON.parse(out)]).toMatchObject([0, { created: 0, updated: 2, unchanged: 1 }]);
  expect(byKey(await listRows(app, name)).get("MUC")).toMatchObject({ name: "Munich", size: "9" });
  project.write("new.csv", "iata,size\nMUC,1\nNEW,9\n");
  const rejected = await sync(app, [name, "new.csv", "--update-by", "iata"]);
  expect(rejected.code).toBe(1);
  expect(rejected.err).toContain(
    "new.csv:3: name: Is required and has no default, and no stored row",
  );
  expect(byKey(await listRows(app, name)).get("MUC")).toMatchObject({ size: "9" });
});

test("--skip-duplicates skips lines that repeat an earlier one, and says how many", async () => {
  const { app, name } = await makeTable();
  project.write("twice.csv", `${HEADER}AAA,a,,\nBBB,b,,\nAAA,a,,\nBBB,b,,\nAAA,a,,\n`);
  const words = [name, "twice.csv", "--update-by", "iata"];
  expect((await sync(app, words)).code).toBe(1);
  const { code, out, err } = await sync(app, [...words, "--skip-duplicates"]);
  expect(code).toBe(0);
  expect(out).toContain("Created 2");
  expect(err).toContain("Skipped 3 duplicate lines");
  project.write("other.csv", `${HEADER}AAA,a,,\nAAA,b,,\n`);
  const other = await sync(app, [name, "other.csv", "--update-by", "iata", "--skip-duplicates"]);
  expect(other.code).toBe(1);
  expect(other.err).toContain("other.csv:3: iata: ");
});

test("a row that changes meanwhile stays, and is named; so does a row with references", async () => {
  const table = await makeTable();
  const { app, name, flights } = table;
  await fill(table);
  const [muc, , , osl] = (await listRows(app, name)).slice(1);
  await post(app, flights, { airport: osl?.["id"] });
  project.write("few.csv", `${HEADER}${BERLIN}NEW,New,,\n`);
  let isChanged = false;
  const proxy = openForwarder(service.url, {
    before: async ({ method }) => {
      if (method !== "POST" || isChanged) return undefined;
      isChanged = true;
      const path = `/v1/data/db/${name}/${muc?.["id"]}`;
      await service.call(app, path, { method: "PATCH", json: { country: "Bavaria" } });
      return undefined;
    },
  });
  const words = [name, "few.csv", "--update-by", "iata", "--delete-missing", "--accept-deletes"];
  const done = await sync(app, words, proxy.url.origin);
  await proxy.stop(true);
  expect(done.code).toBe(1);
  expect(done.out).toBe(`Created 1, changed 0, left 1 and deleted 4 rows of ${name}\n`);
  const left = done.err.split("\n").filter((line) => line.startsWith("Not deleted: "));
  expect(left.sort()).toEqual([
    `Not deleted: iata=MUC (${muc?.["id"]}): has changed since the command read it`,
    expect.stringContaining(`Not deleted: iata=OSL (${osl?.["id"]}): `),
  ]);
  expect([...byKey(await listRows(app, name)).keys()].sort()).toEqual(["BER", "MUC", "NEW", "OSL"]);
});

test("a run that stops in between is continued by the next one", async () => {
  const { app, name } = await makeTable();
  await post(app, name, [
    { iata: "OLD", name: "old" },
    { iata: "1", name: "one" },
  ]);
  const lines = Array.from({ length: 2500 }, (_, n) => `${n},name ${n},${n}.5,`);
  project.write("many.csv", `${HEADER}${lines.join("\n")}\n`);
  let writes = 0;
  const proxy = openForwarder(service.url, {
    after: (response, { method }) =>
      method === "POST" && ++writes === 2 ? new Response("lost", { status: 502 }) : response,
  });
  const words = [name, "many.csv", "--update-by", "iata", "--delete-missing", "--accept-deletes"];
  const stopped = await sync(app, words, proxy.url.origin);
  await proxy.stop(true);
  expect(stopped.code).not.toBe(0);
  expect((await sync(app, words)).code).toBe(0);
  const { json } = await service.call(app, `/v1/data/db/${name}/groups`);
  expect(json).toMatchObject({ groups: [{ count: 2500 }] });
  const again = await sync(app, [...words, "--json"]);
  expect(JSON.parse(again.out)).toMatchObject({
    created: 0,
    updated: 0,
    unchanged: 2500,
    deleted: 0,
  });
});

test("without the preview, the command says what is missing", async () => {
  await using plain = await openTestService({ service: { previews: [] } });
  const { app, name } = await makeTable(plain);
  await Bun.write(join(project.folder, "one.csv"), `${HEADER}${BERLIN}`);
  const { code, err } = await sync(app, [name, "one.csv", "--update-by", "iata"], plain.url);
  expect(code).toBe(1);
  expectSentences(err, {
    names: ["filters", "PREVIEW", "--update-by"],
    varies: { [plain.url]: "<service>" },
  });
});

test("keys by defaults: equal ones are errors before the first write, null and computed ones too", async () => {
  const names = [freshName(), freshName()];
  const [name = "", times = ""] = names;
  const app = await service.makeApp();
  await service.pushSchema(
    app,
    defineSchema({
      [name]: { code: t.string().default("none").unique(), size: t.integer() },
      [times]: {
        at: t.timestamp().default("now").unique(),
        day: t.date().default("today").unique(),
      },
    }),
  );
  await post(app, name, [{ size: 1 }, { code: null, size: 2 }]);
  const before = await listRows(app, name);
  project.write("equal.ndjson", '{"code":"none","size":3}\n{"code":"a"}\n{"size":4}\n');
  project.write("null.csv", "code,size\nb,1\n,5\n");
  project.write("times.ndjson", '{"at":null}\n{"day":"2026-01-01"}\n');
  for (const [table, file, by, lines] of [
    [name, "equal.ndjson", "code", [3]],
    [name, "null.csv", "code", [3]],
    [times, "times.ndjson", "at", [1, 2]],
    [times, "times.ndjson", "day", [1]],
  ] as const) {
    const { code, out } = await sync(app, [table, file, "--update-by", by, "--json"]);
    expect(code).toBe(1);
    const { error, details } = JSON.parse(out) as { error: string; details: { path: string }[] };
    expect(error).toBe("validation_failed");
    expect(details.map(({ path }) => path)).toEqual(lines.map((line) => `/${line}/${by}`));
  }
  expect(await listRows(app, name)).toEqual(before);
  project.write("default.ndjson", '{"size":9}\n');
  const done = await sync(app, [name, "default.ndjson", "--update-by", "code"]);
  expect(done.out).toBe(`Created 0, changed 1, left 0 and deleted 0 rows of ${name}\n`);
});

test("rows that are too large for one response are written by several requests", async () => {
  await using small = await openTestService({
    service: { previews: ["filters"], maxResponseBytes: 65_536 },
  });
  const { app, name } = await makeTable(small);
  const send = (json: unknown) => small.call(app, `/v1/data/db/${name}`, { method: "POST", json });
  const keys = Array.from({ length: 33 }, (_, n) => `K${n}`);
  for (const iata of keys)
    expect((await send({ iata, name: iata, country: "x".repeat(9000) })).status).toBe(201);
  project.write("large.csv", `iata,name\n${keys.map((key) => `${key},new ${key}`).join("\n")}\n`);
  const words = [name, "large.csv", "--update-by", "iata"];
  expect(await sync(app, words, small.url)).toMatchObject({
    code: 0,
    out: `Created 0, changed 33, left 0 and deleted 0 rows of ${name}\n`,
  });
});

test.each([{}, { onDelete: "set null" }] as const)(
  "rows that refer to each other are deleted from the end (%j)",
  async (options) => {
    const name = freshName();
    const app = await service.makeApp();
    await service.pushSchema(
      app,
      defineSchema({ [name]: { iata: t.string().unique(), parent: t.ref(name, options) } }),
    );
    let parent: unknown = null;
    for (const iata of ["kept", "a", "b", "c", "d", "e", "f"]) {
      const json = { iata, parent };
      const made = await service.call(app, `/v1/data/db/${name}`, { method: "POST", json });
      ({ id: parent } = made.json as Row);
    }
    project.write("kept.csv", "iata\nkept\n");
    const words = [name, "kept.csv", "--update-by", "iata", "--delete-missing"];
    expect(await sync(app, [...words, "--accept-deletes"])).toMatchObject({
      code: 0,
      out: `Created 0, changed 0, left 1 and deleted 6 rows of ${name}\n`,
    });
  },
);

test("a column that a push drops during the writes stops the sync before the deletes", async () => {
  const app = await service.makeApp();
  const name = freshName();
  const columns = { code: t.string().unique(), size: t.integer(), note: t.string() };
  await service.pushSchema(app, defineSchema({ [name]: columns }));
  await post(app, name, [{ code: "old" }, { code: "kept" }, { code: "also" }]);
  let requests = 0;
  const proxy = openForwarder(service.url, {
    before: async ({ method }) => {
      if (method === "POST" && requests++ === 0)
        await postChange(service, app, { kind: "drop_column", table: name, column: "note" });
      return undefined;
    },
  });
  try {
    project.write("dropped.csv", "code,size,note\nkept,1,a\nalso,2,b\nnew,3,c\n");
    const words = [name, "dropped.csv", "--update-by", "code", "--delete-missing"];
    const { code, out, err } = await sync(
      app,
      [...words, "--accept-deletes", "--json"],
      `http://127.0.0.1:${proxy.port}`,
    );
    expect({ code, error: JSON.parse(out).error }).toEqual({ code: 1, error: "unknown_column" });
    expectSentences(JSON.parse(out).message, {
      names: ["note", "--map"],
      varies: { [name]: "<table>" },
    });
    expect(err).toContain("create 1, change 2");
    expect((await listRows(app, name)).map((row) => [row["code"], row["size"]])).toEqual([
      ["old", null],
      ["kept", 1],
      ["also", 2],
      ["new", 3],
    ]);
  } finally {
    await proxy.stop(true);
  }
});

test("a sync over the rate limit waits as long as the service says, and writes each row once", async () => {
  const table = await makeTable();
  const { app, name } = table;
  await fill(table);
  const limited = new Set<string>();
  const proxy = openForwarder(service.url, {
    after: (response, { method, url }) => {
      // Each request is rejected once, before and after it takes effect: a repeat has the same key.
      const request = `${method} ${new URL(url).pathname}`;
      if (limited.has(request)) return response;
      limited.add(request);
      const body = { error: "rate_limited", message: "Too many requests", requestId: "none" };
      return Response.json(body, { status: 429, headers: { "retry-after": "0" } });
    },
  });
  try {
    project.write("limited.csv", `${HEADER}${BERLIN}MUC,Munich Airport,,\n${FILLED}NEW,New,,\n`);
    const words = [name, "limited.csv", "--update-by", "iata", "--delete-missing"];
    const { code, out, err } = await sync(app, [...words, "--accept-deletes"], proxy.url.origin);
    expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining("Waiting") });
    expect(out).toBe(`Created 1, changed 1, left 5 and deleted 1 row of ${name}\n`);
    expect([...limited].map((request) => request.split(" ")[0])).toContain("POST");
    expect([...limited].map((request) => request.split(" ")[0])).toContain("DELETE");
    const keys = (await listRows(app, name)).map((row) => row["iata"]);
    expect(keys).toEqual(["BER", "MUC", "ZRH", "OSL", "ARN", "HEL", "NEW"]);
  } finally {
    await proxy.stop(true);
  }
});
