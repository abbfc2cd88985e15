/**
 * Settings of a database that change how PostgreSQL reads or prints SQL and values, plans, or starts transactions: an operator
 * sets them for other programs. The responses are those of a database without settings. A full run tries each setting alone.
 */
import { expect, test } from "bun:test";
import { CODE } from "../../src/db/code/mod.ts";
import { PREVIEWS } from "../../src/preview.ts";
import { issueKey, rollKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { type Change, makeCheckBodies, readDrift } from "../../src/tables/mod.ts";
import { makeEmptyDatabase, setDatabase } from "../support/cluster.ts";
import { makeProject, runHere } from "../support/command.ts";
import { TEST_IDENTITY_SECRET, testDeps } from "../support/deps.ts";
import { postChange, postSchema } from "../support/push.ts";
import { openTestService, type TestService } from "../support/service.ts";
import { isFull } from "../support/tier.ts";

const SETTINGS: Readonly<Record<string, string>> = {
  array_nulls: "off",
  backslash_quote: "off",
  bytea_output: "escape",
  check_function_bodies: "on",
  client_min_messages: "debug1",
  datestyle: "'SQL, DMY'",
  default_transaction_deferrable: "on",
  default_transaction_isolation: "serializable",
  enable_bitmapscan: "off",
  enable_hashagg: "off",
  enable_indexonlyscan: "off",
  enable_nestloop: "off",
  enable_sort: "off",
  escape_string_warning: "off",
  extra_float_digits: "-15",
  from_collapse_limit: "1",
  intervalstyle: "sql_standard",
  jit_above_cost: "0",
  lc_messages: "'C'",
  lc_monetary: "'C'",
  lc_numeric: "'C'",
  lc_time: "'C'",
  plan_cache_mode: "force_generic_plan",
  "plpgsql.variable_conflict": "error",
  quote_all_identifiers: "on",
  search_path: "''",
  standard_conforming_strings: "off",
  synchronous_commit: "off",
  timezone: "'Pacific/Chatham'",
  transform_null_equals: "on",
  xmlbinary: "hex",
  xmloption: "document",
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const CASES = isFull()
  ? Object.entries(SETTINGS).map(([name, value]) => ({ name, settings: { [name]: value } }))
  : [{ name: "all of them", settings: SETTINGS }];

const COLUMNS = {
  title: t.string().required().unique(),
  number: t.number().index(),
  decimal: t.decimal().default("1.50"),
  whole: t.integer(),
  flag: t.boolean().default(true),
  token: t.uuid(),
  moment: t.timestamp().index().default("2026-01-02T03:04:05.123456Z"),
  day: t.date().default("2026-01-31"),
  json: t.json().default({ a: "\\ ' \n" }),
  state: t.enum(["open", "it's \\ done"]).default("open").index(),
};
const ROWS = [
  {
    title: "C:\\temp\\new 'x'",
    number: 0.1,
    whole: -7,
    token: "0190163d-8694-739b-aea5-966c26f8ad91",
  },
  {
    title: "b",
    number: 1e21,
    decimal: "0.10",
    state: "it's \\ done",
    json: [1, "\\d"],
    flag: null,
  },
  { title: "é\ttab", number: -2.5, moment: "1999-12-31T23:59:59.5+02:00", day: "0001-01-01" },
];
const LISTS = [
  "",
  "?order=title",
  "?order=moment,id",
  "?title=ilike.*\\\\temp*",
  "?number=gt.0&order=number.desc",
  "?day=lt.2026-01-01",
  "?state=eq.open&select=title,moment,json",
  "?or=(decimal.eq.0.1,flag.is.null)",
];
const RETYPES: readonly [from: string, to: string, value: unknown][] = [
  ["string", "timestamp", "2026-01-02T03:04:05.5+02:00"],
  ["string", "date", "2026-01-31"],
  ["timestamp", "date", "2026-01-31T00:00:00Z"],
  ["date", "timestamp", "2026-01-31"],
  ["timestamp", "string", "2026-01-31T00:00:00.123456Z"],
  ["number", "json", 1.5],
  ["json", "string", "\\ text"],
  ["string", "integer", "12"],
];

/** Everything that a client sees, without what differs between any two services. */
async function use(service: TestService): Promise<string[]> {
  const seen: string[] = [];
  const app = await service.makeApp(
    defineSchema({
      notes: t.model(COLUMNS).index("state", "title").index("number", "id"),
      ...Object.fromEntries(RETYPES.map(([from], n) => [`r${n}`, { v: t[from as "string"]() }])),
    }),
  );
  const ids: string[] = [];
  const call = async (path: string, method = "GET", json?: unknown) => {
    const response = await service.call(app, `/v1/data/db/${path}`, { method, json });
    const of = (response.json ?? {}) as { id?: string; rows?: { id?: string }[] };
    for (const { id } of [of, ...(of.rows ?? [])]) if (id !== undefined) ids.push(id);
    seen.push(`${method} ${path}: ${response.status} ${response.text}`);
    return of;
  };
  const { rows: [first] = [] } = await call("notes", "POST", ROWS);
  await call("notes", "POST", { title: "b" });
  await call("notes?onConflict=title", "POST", { title: "b", whole: 5 });
  await call(`notes/${first?.id}`, "PATCH", { moment: "2026-03-29T01:30:00Z", decimal: "2.00" });
  for (const list of LISTS) await call(`notes${list}`);
  await call("notes/groups?by=state");
  await call("notes?number=gt.1", "DELETE");
  for (const [n, [, to, value]] of RETYPES.entries()) {
    await call(`r${n}`, "POST", { v: value });
    const type = { kind: to } as Extract<Change, { kind: "retype_column" }>["type"];
    const change: Change = { kind: "retype_column", table: `r${n}`, column: "v", type };
    const changed = await postChange(service, app, change);
    expect([to, changed.status, changed.text]).toEqual([to, 200, changed.text]);
    await call(`r${n}`);
  }
  const deps = testDeps(service.service);
  const { keyId } = await issueKey(deps, {
    ...{ slug: app.slug, name: "ends", scopes: ["data:read"] },
    expiresAt: new Date(Date.now() + DAY_MS),
  });
  const { expiresAt, oldExpiresAt } = await rollKey(deps, keyId, "1h");
  for (const date of [expiresAt, oldExpiresAt])
    seen.push(`ends after ${Math.round((Number(date) - Date.now()) / HOUR_MS)} hours`);
  const value = { kind: "drop_value", table: "notes", column: "state", value: "it's \\ done" };
  expect((await postChange(service, app, value as Change)).text).toContain('"applied"');
  await call("notes");
  const now = defineSchema({
    notes: t
      .model({ ...COLUMNS, state: t.enum(["open"]).default("open").index() })
      .index("state", "title")
      .index("number", "id"),
    ...Object.fromEntries(RETYPES.map(([, to], n) => [`r${n}`, { v: t[to as "string"]() }])),
  });
  expect((await postSchema(service, app, now)).json).toMatchObject({ status: "unchanged" });
  expect(await readDrift(service.service.admin)).toEqual([]);
  await checkBodies(service);
  const names = new Map([...new Set(ids)].map((id, nth) => [id, `id${nth}`]));
  return seen.map((line) =>
    line
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => names.get(id) ?? "other")
      .replaceAll(/"next":"[^"]*"/g, '"next":"…"'),
  );
}

/** A push does not let PostgreSQL check the bodies that it generates. */
async function checkBodies(service: TestService): Promise<void> {
  const [row] = await service.query<{ count: number }>(
    `select count(plpgsql_validator(oid))::int4 as count from pg_proc,
      set_config('check_function_bodies', 'on', false) where pronamespace = 'api'::regnamespace`,
  );
  expect(row?.count).toBeGreaterThan(50);
}

const previews = PREVIEWS;
let reference: Promise<string[]> | undefined;
async function readReference(): Promise<string[]> {
  const service = await openTestService({ service: { previews } });
  return await use(service).finally(service.close);
}

test.each(CASES)("responses do not depend on $name", async ({ settings }) => {
  reference ??= readReference();
  const wanted = await reference;
  await using service = await openTestService({ settings, service: { previews } });
  expect(await use(service)).toEqual(wanted);
  expect((await service.call(undefined, "/ready")).status).toBe(200);
  expect(await makeCheckBodies(service.service.db)("")).toEqual([]);
  const env = { ADMIN_DATABASE_URL: service.database.adminUrl, PREVIEW: previews.join(",") };
  using project = makeProject();
  const serving = {
    DATABASE_URL: service.database.servingUrl,
    IDENTITY_SECRET: TEST_IDENTITY_SECRET,
  };
  const checked = await runHere(["doctor"], { ...project, env: { ...env, ...serving } });
  expect(checked.out).toContain("ok   isolation");
  expect(checked.out).not.toContain("could not run");
  const plan = await runHere(["migrate", "--dry-run"], { ...project, env });
  expect([plan.code, plan.out, plan.err]).toEqual([0, "Nothing to do\n", ""]);
});

test.each(CASES)("migrate sets up a database with $name once", async ({ settings }) => {
  await using database = await makeEmptyDatabase();
  await setDatabase(database.url, settings);
  using project = makeProject();
  const env = { ADMIN_DATABASE_URL: database.url };
  const first = await runHere(["migrate"], { ...project, env });
  expect([first.code, first.err]).toEqual([0, ""]);
  expect(await runHere(["migrate"], { ...project, env })).toEqual({
    ...{ code: 0, out: "Nothing to do\n", err: "" },
  });
});

test("no text of the code depends on how PostgreSQL reads a backslash", () => {
  const texts = Object.entries(CODE.functions).flatMap(([name, sql]) =>
    [
      ...sql.replaceAll(/--.*/g, "").matchAll(/\b[eE]'(?:[^'\\]|''|\\[\s\S])*'|'(?:[^']|'')*'/g),
    ].map(([text]) => ({ name, text })),
  );
  expect(texts.length).toBeGreaterThan(1000);
  expect(texts.filter(({ text }) => text.includes("\\") && !/^e/i.test(text))).toEqual([]);
});
