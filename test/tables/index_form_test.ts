/** The indexes that conditions of lists can search: a push builds them, and `migrate` beside those of releases before 0.2.0. */
import { expect } from "bun:test";
import postgres from "postgres";
import { readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { checkSearch } from "../../src/service/doctor/schema_state.ts";
import { makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { makeProject, runHere } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { buildFormer } from "../support/former_form.ts";
import { whileDone } from "../support/held_lock.ts";
import { postChange, postSchema } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const testOne = testUnlessCitus("a cluster has no query functions");
const MEMBERS = "/v1/data/db/members";
const makeSchema = (more: object = {}) =>
  defineSchema({
    members: t
      .model({
        email: t.string().unique(),
        Name: t.string().index(),
        team: t.string().required(),
        level: t.integer(),
        status: t.enum(["a", "b"]),
        joined_at: t.timestamp().required(),
        friend: t.ref("members"),
        ...more,
      })
      .unique("team", "level")
      .index("team", "joined_at")
      .index("joined_at")
      .index("level", "Name", "id")
      .index("status", "team"),
  });
/** Those of 0.1 without the preview `filters`. */
const FORMER = [
  ...["members__Name__idx", "members__email__key", "members__friend__idx"],
  ...["members__joined_at__idx", "members__level__Name__id__idx", "members__status__team__idx"],
  ...["members__team__joined_at__idx", "members__team__level__key"],
];
const SEARCH = [
  "members__Name__search_idx",
  "members__email__search_key",
  "members__friend__search_idx",
  "members__joined_at__search_idx",
  "members__level__Name__id__search_idx",
  "members__status__team__sorted_idx",
  "members__team__joined_at__search_idx",
  "members__team__level__search_key",
];
const LONG = "x".repeat(70);

const project = await share(makeProject());
const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(makeSchema());
const create = (json: object) => service.call(app, MEMBERS, { method: "POST", json });
const rows = Array.from({ length: 12 }, (_, n) => ({
  ...{ email: `${LONG}${n}`, Name: n % 3 === 0 ? null : `n${n % 4}`, team: `t${n % 2}` },
  ...{ level: n, status: "a", joined_at: `2026-01-${10 + n}T00:00:00Z` },
}));
for (let start = 0; start < rows.length; start += 5) await create(rows.slice(start, start + 5));

/** Runs a command as an operator. */
async function run(...words: string[]): Promise<string> {
  const { adminUrl, servingUrl, prepare } = service.database;
  const env = {
    ADMIN_DATABASE_URL: adminUrl,
    DATABASE_URL: servingUrl,
    DATABASE_PREPARE: prepare ? "on" : "off",
    IDENTITY_SECRET: TEST_IDENTITY_SECRET,
  };
  const { code, out, err } = await runHere(words, { ...project, env });
  expect([code, err]).toEqual([0, expect.any(String)]);
  return out;
}

const BOTH = [...FORMER, ...SEARCH].sort();

/** The valid indexes of a table except its primary key. */
async function listIndexes(table = "members"): Promise<string[]> {
  const rows = await readRows<{ name: string }>(
    service.service.admin,
    `select relname as name from pg_catalog.pg_index join pg_catalog.pg_class on oid = indexrelid
    where indrelid = pg_catalog.to_regclass($1) and indisvalid and not indisprimary
    order by relname collate "C"`,
    [`data.${table}`],
  );
  return rows.map(({ name }) => name);
}

async function expectClean(): Promise<void> {
  expect(await readDrift(service.service.admin)).toEqual([]);
  const { issues } = await makeIsolationCheck(service.service.admin)();
  expect(issues).toEqual([]);
}

/** A second row with the same text is rejected, and the error names the column. */
async function expectUnique(): Promise<void> {
  const row = { email: `${LONG}3`, team: "t", joined_at: "2026-01-01T00:00:00Z" };
  expect((await create(row)).json).toMatchObject({
    error: "unique_violation",
    details: [{ path: "/email" }],
  });
}

async function find(query: string): Promise<unknown[]> {
  const { json, status, text } = await service.call(app, `${MEMBERS}?${query}`);
  if (status !== 200) return [text];
  return (json as { rows: { level: number }[] }).rows.map(({ level }) => level);
}

testOne("a push builds indexes that conditions can search", async () => {
  expect(await listIndexes()).toEqual(SEARCH);
  await expectClean();
  await expectUnique();
  expect(await find(`email=eq.${LONG}7`)).toEqual([7]);
  expect(await find("order=Name.desc&limit=4")).toEqual([11, 7, 10, 2]);
  expect(await find("Name=is.null&order=id.desc")).toEqual([9, 6, 3, 0]);
});

testOne("migrate and doctor report built-ins that are not leakproof", async () => {
  const superuser = postgres(service.database.superuserUrl, { max: 1, onnotice: () => undefined });
  const warning = "name(text) is not leakproof";
  expect(await run("migrate")).not.toContain(warning);
  await superuser.unsafe("alter function pg_catalog.name(pg_catalog.text) not leakproof");
  expect(await run("migrate")).toContain(warning);
  const results = await checkSearch(service.service.admin);
  expect(results).toMatchObject([{ level: "warn" }]);
  expect(JSON.stringify(results)).toContain(warning);
  await superuser.unsafe("alter function pg_catalog.name(pg_catalog.text) leakproof");
  await superuser.end();
  expect(await checkSearch(service.service.admin)).toEqual([]);
});

testOne("changes of a table keep its indexes", async () => {
  const change = async (request: { kind: string } & Record<string, unknown>) => {
    const { json } = await postChange(service, app, request);
    expect([request.kind, json]).toEqual([
      request.kind,
      expect.objectContaining({ status: "applied" }),
    ]);
    await expectClean();
  };
  await change({ kind: "rename_column", table: "members", column: "email", to: "mail" });
  expect(await listIndexes()).toContain("members__mail__search_key");
  expect(await find(`mail=eq.${LONG}7`)).toEqual([7]);
  await change({ kind: "rename_column", table: "members", column: "mail", to: "email" });
  await change({ kind: "rename_table", table: "members", to: "people" });
  expect(await listIndexes("people")).toContain("people__email__search_key");
  await change({ kind: "rename_table", table: "people", to: "members" });
  expect(await listIndexes()).toEqual(SEARCH);
  const retype = { kind: "retype_column", table: "members", column: "level" };
  await change({ ...retype, type: { kind: "string" } });
  expect(await find("level=eq.7")).toEqual(["7"]);
  await change({ ...retype, type: { kind: "integer" } });
  expect(await listIndexes()).toEqual(SEARCH);
  await postSchema(service, app, makeSchema({ note: t.string().index() }));
  expect(await listIndexes()).toContain("members__note__search_idx");
  await change({ kind: "drop_column", table: "members", column: "note" });
  expect(await listIndexes()).toEqual(SEARCH);
});

testOne(
  "migrate builds indexes beside those of an earlier release, until the contract step",
  async () => {
    await buildFormer(service.service.admin, "members");
    expect(await listIndexes()).toEqual(FORMER);
    await expectUnique();
    expect(await find(`email=eq.${LONG}7`)).toEqual([7]);
    const { rebuilds } = JSON.parse(await run("migrate", "--dry-run", "--json")) as {
      rebuilds: { table: string; indexes: string[] }[];
    };
    expect(rebuilds.map(({ table }) => table)).toEqual(["members"]);
    expect(rebuilds[0]?.indexes.toSorted()).toEqual(SEARCH);
    expect(await run("migrate", "--dry-run")).toContain("without locking it: members__");
    expect(await listIndexes()).toEqual(FORMER);

    const text = "update data.members set level = level where level = 0";
    const { migrated } = await whileDone(service.database.superuserUrl, { text }, async () => {
      const migrated = run("migrate");
      await eventually(async () => {
        const [row] = await readRows<{ count: number }>(
          service.service.admin,
          "select count(*)::integer as count from rowhouse.deferred_steps where state = 'running'",
        );
        return row?.count === 1;
      });
      expect(await listIndexes()).toEqual(FORMER);
      // The status of an app has only the deferred steps of its pushes.
      expect((await service.call(app, "/v1/data/schema")).json).toMatchObject({
        deferredSteps: [],
      });
      await expectUnique();
      expect(await find(`email=eq.${LONG}7`)).toEqual([7]);
      const rename = { kind: "rename_column", table: "members", column: "email", to: "mail" };
      expect((await postChange(service, app, rename)).json).toMatchObject({ error: "push_busy" });
      // Not the promise itself: the build ends only after this transaction.
      return { migrated };
    });
    await migrated;
    expect(await listIndexes()).toEqual(BOTH);
    await expectClean();
    await expectUnique();
    const rename = { kind: "rename_column", table: "members", column: "email", to: "mail" };
    await postChange(service, app, rename);
    expect(await listIndexes()).toContain("members__mail__key");
    await expectClean();
    await postChange(service, app, { ...rename, column: "mail", to: "email" });
    await run("migrate", "--contract", "--yes");
    expect(await listIndexes()).toEqual(SEARCH);
    await expectClean();
    await expectUnique();
  },
);
