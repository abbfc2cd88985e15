/**
 * Compares the rights of each login on each object of the database with grants.json. After an intended change, run
 * UPDATE_GRANTS=1 bun test test/db/grants_test.ts, and review the difference.
 */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { cases } from "../support/cases.ts";
import {
  CONSOLE_LOGIN,
  PUSH_LOGIN,
  ROWS_LOGIN,
  LOGIN as SERVING_LOGIN,
  toLogin,
} from "../support/cluster.ts";
import { ROOT } from "../support/command.ts";
import { addNeeds, readGrants } from "../support/grants.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const LIST = join(ROOT, "test/db/grants.json");
const NO_RIGHTS = "rowhouse_test_nobody";
/**
 * The logins as migrate creates them, the roles of the generated functions and of those that find rows,
 * and a login without rights.
 */
const LOGINS = {
  all: SERVING_LOGIN,
  gateway: toLogin("gateway"),
  data: toLogin("data"),
  identity: toLogin("identity"),
  push: PUSH_LOGIN,
  console: CONSOLE_LOGIN,
  rows: ROWS_LOGIN,
  functions: "rowhouse_tenant",
  finders: "rowhouse_reader",
  nobody: NO_RIGHTS,
} as const;

const service = await share(openTestService());
await service.makeApp(
  defineSchema({
    projects: { name: t.string().required().unique() },
    todos: { title: t.string(), kind: t.enum(["a", "b"]), project: t.ref("projects") },
  }),
);
const { admin } = service.service;
await admin.message(`do $$ begin
    if pg_catalog.to_regrole('${NO_RIGHTS}') is null then create role ${NO_RIGHTS} login; end if;
  exception when duplicate_object or unique_violation then null; end $$; select 1`);
const grants = addNeeds(await readGrants(admin, LOGINS));
if (process.env["UPDATE_GRANTS"] === "1")
  writeFileSync(LIST, `${JSON.stringify(grants, null, 2)}\n`);

test("the database grants exactly the rights in grants.json", () => {
  expect(grants).toEqual(JSON.parse(readFileSync(LIST, "utf8")));
});

test("grants.json has every table and function of the service, and an example of each kind of app object", () => {
  const kinds = Object.keys(grants).map((thing) => thing.split(" ")[0]);
  for (const kind of ["database", "schema", "table", "function", "sequence", "each"])
    expect(kinds).toContain(kind);
  expect(Object.keys(grants)).toEqual(
    expect.arrayContaining(["each table of data", "each type of data", "each function of api"]),
  );
});

test.each(cases("statement", "thing")`
  grant select on rowhouse.users to public                         | table rowhouse.users
  grant update (sql) on rowhouse.migrations to rowhouse_data       | table rowhouse.migrations
  create table rowhouse.mine (id int)                              | table rowhouse.mine
  grant select on data.todos to rowhouse_service                   | each table of data
  grant execute on all functions in schema api to public           | each function of api
  create function rowhouse.mine() returns int language sql as 'select 1' | function rowhouse.mine()
  alter table rowhouse.sessions owner to rowhouse_tables           | table rowhouse.sessions
  grant create on schema rowhouse to rowhouse_identity             | schema rowhouse
`)("the check detects: $statement", async ({ statement, thing }) => {
  const { admin } = service.service;
  const before = await readGrants(admin, LOGINS);
  await admin.message(`${statement}; select 1`);
  const after = await readGrants(admin, LOGINS);
  const changed = Object.keys(after).filter(
    (name) => JSON.stringify(after[name]) !== JSON.stringify(before[name]),
  );
  expect(changed).toEqual([thing]);
});
