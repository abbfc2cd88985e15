/** A record of verified functions saves reading and generating all of them again. A changed body is found nevertheless. */
import { afterEach, expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { findOutdatedTables, makeCheckBodies, refreshFunctions } from "../../src/tables/mod.ts";
import { signatureOf } from "../support/functions.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ service: UNGUARDED }));
const { admin, db } = service.service;
await service.makeApp(schema);
await refreshFunctions(admin);
const GET = `'api.${signatureOf(schema, "todos", "get")}'::regprocedure`;
const TERMS = `'api.${signatureOf(schema, "todos", "terms")}'::regprocedure`;

const swap = (from: string, to: string, of = GET) =>
  admin.message(`do $do$ begin execute regexp_replace(
    pg_get_functiondef(${of}), '\\m${from}', '${to}'); end $do$; select 1`);
const plant = () => swap("begin", "begin perform 1;");
afterEach(async () => {
  await swap("begin perform 1;", "begin");
  await admin.message(`delete from rowhouse.body_digests; ${READ_ALL}; select 1`);
});
const READ_ALL = "update rowhouse.isolation_checks set marks = ''";

const listOutdated = () => findOutdatedTables(admin, true);
const count = async (table: string) =>
  (await service.query<{ rows: number }>(`select count(*)::int4 as rows from rowhouse.${table}`))[0]
    ?.rows;

/** What a process that starts now reports. */
async function listIssues(): Promise<readonly string[]> {
  const { bodies } = await makeIsolationCheck(db)();
  return await makeCheckBodies(db)(bodies);
}

test("a planted body is found in a verified set", async () => {
  expect(await listOutdated()).toEqual([]);
  expect(await listIssues()).toEqual([]);
  expect(await count("verified_sets")).toBeGreaterThan(0);
  await plant();
  expect(await listOutdated()).toEqual(["todos"]);
  expect(await listIssues()).toHaveLength(1);
});

test("a planted term is found in a verified set", async () => {
  expect(await listIssues()).toEqual([]);
  await swap("app_id", "id", TERMS);
  expect(await listOutdated()).toEqual(["todos"]);
  expect(await listIssues()).toHaveLength(1);
  expect(await refreshFunctions(admin)).toEqual(["todos"]);
  expect(await listIssues()).toEqual([]);
});

test("a renewal verifies what it renewed, and forgets what is gone", async () => {
  await plant();
  const before = await service.query("select digest from rowhouse.verified_sets order by digest");
  await admin.message(
    "delete from rowhouse.verified_sets; insert into rowhouse.verified_sets values ('gone'); select 1",
  );
  expect(await refreshFunctions(admin)).toEqual(["todos"]);
  expect(await service.query("select digest from rowhouse.verified_sets order by digest")).toEqual(
    before,
  );
});

test("a body whose version does not tell that it changed is found within a day, and by doctor at once", async () => {
  await listIssues();
  await plant();
  await admin.message(`update rowhouse.body_digests
    set mark = (select concat_ws(' ', xmin, ctid) from pg_proc where oid = ${GET}) where oid = ${GET};
    ${READ_ALL}; select 1`);
  expect(await listIssues()).toEqual([]);
  expect(await listOutdated()).toEqual(["todos"]);
  await admin.message(
    "update rowhouse.body_digests set read_at = now() - interval '25 hours'; select 1",
  );
  expect(await listIssues()).toEqual([expect.stringContaining("todos")]);
});

test("a finder is made again after its text or its maker changed, within a day, and by doctor", async () => {
  const finder = "(select oid from pg_proc where proname = 'todos__finder')";
  const readIssues = async () => (await makeIsolationCheck(db)()).issues;
  const change = (text: string) => admin.message(`${text}; ${READ_ALL}; select 1`);
  const swapText = (name: string, swapped: string) =>
    admin.message(`do $do$ begin execute (select replace(pg_get_functiondef(oid), ${swapped})
      from pg_proc where proname = '${name}'); end $do$; select 1`);
  const ISSUE = expect.stringContaining("find.todos__finder");
  // As a release with other finders.
  await swapText("finder_body", "'order by %%3$s', 'order  by %%3$s'");
  expect(await readIssues()).toContainEqual(ISSUE);
  await swapText("finder_body", "'order  by %%3$s', 'order by %%3$s'");
  expect(await readIssues()).toEqual([]);
  await swapText("todos__finder", "'t.app_id operator(pg_catalog.=) $1', 'true'");
  expect(await readIssues()).toEqual([ISSUE]);
  await change(`update rowhouse.body_digests as known set digest = md5('other'), mark = concat_ws(' ',
    rowhouse.mark_of(known.oid), rowhouse.mark_of('rowhouse.finder_body'::regproc)) where oid = ${finder}`);
  expect(await readIssues()).toEqual([]);
  expect(await listOutdated()).toEqual(["todos"]);
  await change(`update rowhouse.body_digests set read_at = now() - interval '25 hours'`);
  expect(await readIssues()).toEqual([ISSUE]);
  expect(await refreshFunctions(admin)).toEqual(["todos"]);
  expect(await readIssues()).toEqual([]);
});

test("a table is not verified with a record that no push writes", async () => {
  const set = (value: string) =>
    admin.message(`update rowhouse.column_sets set definition = ${value}
      where table_name = 'todos'; select 1`);
  await set(`definition || '{"other": 1}'`);
  expect(await refreshFunctions(admin)).toEqual([]);
  expect(await listIssues()).toContainEqual(expect.stringContaining("todos"));
  await set("definition - 'other'");
  expect(await listIssues()).toEqual([]);
});

test("a process compares a table again only after a change of its functions or of its record", async () => {
  await admin.message("delete from rowhouse.verified_sets; select 1");
  const read: string[] = [];
  const check = makeCheckBodies({
    ...db,
    query: (text, values, options) => {
      if (text.includes("read_generated_tables")) read.push(JSON.stringify(values));
      return db.query(text, values, options);
    },
  });
  const checkNow = async () => await check((await makeIsolationCheck(db)()).bodies);
  expect(await checkNow()).toEqual([]);
  expect(read.splice(0)).toEqual([expect.stringContaining("projects")]);
  await service.makeApp(defineSchema({ others: t.model({ name: t.string() }) }));
  expect(await checkNow()).toEqual([]);
  expect(read.splice(0)).toEqual([expect.stringMatching(/others(?!.*(projects|todos))/)]);
  await plant();
  expect(await checkNow()).toHaveLength(1);
  expect(read).toEqual([expect.stringMatching(/todos(?!.*(projects|others))/)]);
});

test("bodies that have changed are read in slices", async () => {
  await listIssues();
  const all = (await count("body_digests")) ?? 0;
  await admin.message("delete from rowhouse.body_digests where oid::int8 % 2 = 0; select 1");
  const left = (await count("body_digests")) ?? 0;
  const read = async () =>
    (await service.query<{ read: number }>("select rowhouse.refresh_bodies(4) as read"))[0]?.read;
  const slices: (number | undefined)[] = [];
  do slices.push(await read());
  while (slices.at(-1) === 4);
  expect(slices.reduce((sum = 0, rows = 0) => sum + rows)).toBe(all - left);
  expect(await count("body_digests")).toBe(all);
});
