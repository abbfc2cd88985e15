/** What the guard finds. Each attack runs in a transaction that is rolled back. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import demo from "../../schema/mod.ts";
import { CODE, SHARED } from "../../src/db/code/mod.ts";
import { readCode } from "../../src/db/code/statements.ts";
import { renderFindIssues } from "../../src/db/isolation.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { casesBy } from "../support/cases.ts";
import { LOGIN } from "../support/cluster.ts";
import { functionOf, signatureOf } from "../support/functions.ts";
import { countLockWaits, whileLocked } from "../support/held_lock.ts";
import { expectSentences } from "../support/sentences.ts";
import { openTestService, type TestService, UNGUARDED } from "../support/service.ts";

const schema = defineSchema({ heard: t.model({ name: t.string() }).index("name") });
const WHEN = "when (current_setting('rowhouse.listens', true) <> '')";
const CALL = "execute function rowhouse.listen_to_delete()";
const LISTENER = `after delete on data.heard referencing old table as "$was" for each statement ${WHEN} ${CALL}`;
const DROP = "drop trigger listen_to_delete on data.heard";
const FORM = "Table data.heard must have no triggers but listeners, and no rules";
const COUNT = "Table data.heard must have the listeners of its apps";
const GRANTED = "must be granted only to rowhouse_tenant, and only for rows";

let service: TestService;
let superuser: postgres.Sql;
beforeAll(async () => {
  service = await openTestService({ service: { previews: ["filters", "history"], ...UNGUARDED } });
  const app = await service.makeApp(schema);
  await service.makeApp(defineSchema({ unheard: { name: t.string() } }));
  await service.makeApp(demo);
  await setAppSwitch(service.service, app.slug, ["history", true]);
  superuser = postgres(service.database.superuserUrl, { max: 1, onnotice: () => undefined });
});
afterAll(async () => {
  await superuser.end();
  await service.close();
});

/** Finds the issues after the attack, and undoes it. */
async function findIssues(attack: string): Promise<string[]> {
  let issues: string[] = [];
  const undone = new Error("undone");
  await superuser
    .begin(async (transaction) => {
      await transaction.unsafe(attack);
      const [found] = await transaction.unsafe<{ issues: string[] }[]>(
        "select rowhouse.find_issues() as issues",
      );
      issues = found?.issues ?? [];
      throw undone;
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  return issues;
}

const GET = functionOf(demo, "todos", "get");
const GET_SIGNATURE = signatureOf(demo, "todos", "get");
const PLANT =
  "create function data.planted(value text) returns text language sql immutable as 'select value'";
const ADD = "alter table data.todos add constraint planted";
const alterGet = (change: string) => `alter function api.${GET_SIGNATURE} ${change}`;
const alterShared = (change: string) => `alter function rowhouse.${SHARED[0]} ${change}`;
const allowBy = (column: string) =>
  `alter policy tenant on data.todos using (${column} = nullif(current_setting('rowhouse.app_id', true), '')::uuid)`;

/** What breaks the isolation, by what the guard names. The rule that it breaks is in the snapshot. */
const OF_ISOLATION = casesBy({
  "Table data.todos": {
    "disabled row security": "alter table data.todos disable row level security",
    "unforced row security": "alter table data.todos no force row level security",
    "a second policy": "create policy all_of_it on data.todos for select to public using (true)",
    "another policy under the same name": "alter policy tenant on data.todos using (true)",
    "a policy over another column": allowBy("id"),
    "a foreign trigger on apps' rows":
      "create trigger spy before delete on data.todos for each row execute function suppress_redundant_updates_trigger()",
    "a foreign rule on apps' rows": "create rule spy as on delete to data.todos do also nothing",
    "an app's table of the owner of the service's tables":
      "alter table data.todos owner to rowhouse_owner",
  },
  "Relation data.todos": { "rows granted to public": "grant select on data.todos to public" },
  "Table rowhouse.proofs": {
    "proofs of keys without row security":
      "alter table rowhouse.proofs no force row level security",
  },
  "Relation rowhouse.proofs": {
    "proofs of keys granted to the service": "grant select on rowhouse.proofs to rowhouse_service",
  },
  "Relation data.peek": {
    "a view of the rows granted to the service":
      "create view data.peek as select * from data.todos; grant select on data.peek to rowhouse_service",
  },
  [`Function api.${GET}`]: {
    "a function that runs with its caller's rights": alterGet("security invoker"),
    "a function of the owner of the tables": alterGet("owner to rowhouse_tables"),
    "a function granted to public": `grant execute on function api.${GET_SIGNATURE} to public`,
    "a function with settings": alterGet("set search_path = data"),
    "a function that can be called during planning": alterGet("immutable"),
  },
  [`Function rowhouse.${SHARED[0]}`]: {
    "a function of all tables that runs with its caller's rights": alterShared("security invoker"),
    "a function of all tables with another owner": alterShared("owner to rowhouse_tables"),
    "a function of all tables granted to public": `grant execute on function rowhouse.${SHARED[0]} to public`,
    "a function of all tables with other settings": alterShared("set search_path = data"),
  },
  "Function rowhouse.mine": {
    "another function that runs as rowhouse_tenant":
      "create function rowhouse.mine() returns text language sql as 'select 1'; alter function rowhouse.mine() owner to rowhouse_tenant",
  },
  "Role rowhouse_tables": {
    "a table of the service that belongs to the owner of apps' tables":
      "alter table rowhouse.sessions owner to rowhouse_tables",
  },
  "Role rowhouse_tenant": {
    "a table that belongs to the functions' owner":
      "create table public.mine (); alter table public.mine owner to rowhouse_tenant",
  },
  "Column title of data.todos": {
    "a column with its own grant": "grant select (title) on data.todos to rowhouse_identity",
    "a default that calls a function":
      "alter table data.todos alter column title set default set_config('rowhouse.planted', 'x', false)",
  },
  "Column planted of data.todos": {
    "a generated column":
      "alter table data.todos add column planted text generated always as (lower(title)) stored",
  },
  "function data.planted(text)": { "a function among apps' tables": PLANT },
  "operator data.===(NONE,text)": {
    "an operator": `${PLANT}; create operator data.=== (rightarg = text, function = data.planted)`,
  },
  "Cast from data.planted_kind to jsonb": {
    "a cast":
      "create type data.planted_kind as enum ('a'); create cast (data.planted_kind as jsonb) with inout",
  },
  "type api.planted": { "a domain": "create domain api.planted as text check (value <> 'x')" },
  "type data.planted_kind": {
    "an enum without a column": "create type data.planted_kind as enum ('a')",
  },
  "type data.planted": { "a composite type": "create type data.planted as (part text)" },
  "sequence data.planted": { "a sequence": "create sequence data.planted" },
  "table api.planted": { "a table among the functions": "create table api.planted (part text)" },
  "Constraint planted of data.todos": {
    "a check constraint on rows": `${ADD} check (set_config('rowhouse.planted', 'x', false) is not null) not valid`,
    "an exclusion constraint": `${ADD} exclude using btree (app_id with =, id with =)`,
    "a deferred constraint": `${ADD} foreign key (app_id, id) references data.todos (app_id, id) deferrable initially deferred`,
  },
  "Index data.planted": {
    "an index on an expression": "create index planted on data.todos (app_id, (lower(title)))",
    "a partial index": "create index planted on data.todos (app_id) where length(title) > 3",
  },
  "Statistics planted of data.todos": {
    "statistics on an expression":
      "create statistics data.planted on (lower(title)), id from data.todos",
  },
});

test("the guard finds what breaks the isolation", async () => {
  const said = [];
  for (const { name, value: attack, expected: thing } of OF_ISOLATION) {
    const issues = (await findIssues(attack)).join("; ");
    expect([name, issues]).toEqual([name, expect.stringContaining(`${thing} must `)]);
    said.push(`${name}: ${issues}`);
  }
  expectSentences(said.join("\n"), { varies: { [GET]: "<function>" } });
});

/** A listener with a part replaced. */
const renew = (part: string, by: string) =>
  `${DROP}; create trigger listen_to_delete ${LISTENER.replace(part, by)}`;
const listenOn = (table: string) =>
  `create trigger listen_to_delete ${LISTENER.replace("data.heard", table)}`;

const DROP_ALL = ["insert", "update", "delete"]
  .map((event) => `drop trigger listen_to_${event} on data.heard;`)
  .join(" ");

/** What breaks the listeners, by the issues, which "; " separates. */
const OF_LISTENERS = casesBy({
  [FORM]: {
    "another name": `${DROP}; create trigger listen_too ${LISTENER}`,
    "another function": renew(CALL, "execute function suppress_redundant_updates_trigger()"),
    "another condition": renew("<> ''", "<> 'x'"),
    "no condition": renew(WHEN, ""),
    "another event": renew("after delete", "after update"),
    "another moment": renew(
      LISTENER,
      `before delete on data.heard for each statement ${WHEN} ${CALL}`,
    ),
    "another name of the rows": renew("$was", "$were"),
    "each row": renew("each statement", "each row"),
    "an argument": renew("delete()", "delete('x')"),
    "a disabled listener": "alter table data.heard disable trigger listen_to_delete",
    "a listener for replicas": "alter table data.heard enable replica trigger listen_to_delete",
  },
  [COUNT]: { "a dropped listener": DROP, "no listener": DROP_ALL },
  [`${FORM}; ${COUNT}`]: { "one more": `create trigger listen_too ${LISTENER}` },
  "Table data.unheard must have the listeners of its apps": {
    "a listener on a table without listening apps": listenOn("data.unheard"),
  },
  "Table rowhouse.proofs must have no triggers but listeners, and no rules": {
    "a listener on a table of the service": listenOn("rowhouse.proofs"),
  },
  "Function rowhouse.listen_to_delete must belong to rowhouse_listener": {
    "another owner of a function":
      "alter function rowhouse.listen_to_delete owner to rowhouse_owner",
  },
  "Role rowhouse_listener must have only administrators as members, not rowhouse_service; Role rowhouse_service must not be a member of rowhouse_listener":
    { "a member of the role": "grant rowhouse_listener to rowhouse_service" },
  "Role rowhouse_listener must be a member of no other role": {
    "a membership of the role": "grant rowhouse_tenant to rowhouse_listener",
  },
  [`Relation rowhouse.row_changes ${GRANTED}`]: {
    "a role that reads": "grant select on rowhouse.row_changes to rowhouse_listener",
  },
  [`Relation data.heard ${GRANTED}`]: {
    "a role that reads rows": "grant select on data.heard to rowhouse_listener",
  },
  "Role rowhouse_listener must exist, without SUPERUSER, BYPASSRLS and LOGIN": {
    "a role that signs in": "alter role rowhouse_listener login",
  },
});

/** A function of the schema find, and the check of a release that has it. */
const FIND = `create function find.planted() returns uuid language sql security definer as $$ select null::uuid $$;
  alter function find.planted() owner to rowhouse_reader;
  revoke all on function find.planted() from public;
  grant execute on function find.planted() to rowhouse_tenant;`;
/** A finder of a table with a condition less. */
const OTHER_FINDER = `do $$ declare body text := rowhouse.finder_body('{"table": "heard", "walks": [{"index": "i",
    "isUnique": false, "hasNulls": false, "terms": [{"column": "id", "type": "pg_catalog.uuid"}]}]}'); begin
  body := replace(body, 't.app_id operator(pg_catalog.=) $1', 't.app_id is not null');
  execute format('create or replace function find.heard__finder(uuid, text, bool, text[], text[], text[], int4)
    returns tid[] language plpgsql stable security definer as %L', body);
  alter function find.heard__finder owner to rowhouse_reader;
  revoke all on function find.heard__finder from public;
  grant execute on function find.heard__finder to rowhouse_tenant;
end $$`;
const RELEASE = `${FIND} ${renderFindIssues({ finders: { ...CODE.finders, ...readCode(FIND).finders }, shared: SHARED }).replace("create", "create or replace")}`;

test("a table can lack listeners until migrate has finished: the earlier release serves it", async () => {
  expect(await findIssues(`${DROP_ALL} update rowhouse.release set name = null`)).toEqual([]);
});

const ONLY = "must have only the tenant policy, and one by which rowhouse_reader reads";
const BOTH =
  "Table data.heard must let rowhouse_reader read by a policy and a grant, or by neither";
const DROP_READER = "drop policy reader on data.heard";
const readBy = (rest: string) => `${DROP_READER}; create policy reader on data.heard ${rest}`;
const MEMBER = "Role rowhouse_reader must have no member that inherits or may set it, not";
const NO_RIGHT = "Role rowhouse_reader must have no right on";
const OTHERS = "Role rowhouse_reader must own only functions of the schema find, not";

/** What breaks the functions that find rows, and their role. */
const OF_READER = casesBy({
  [`Table data.heard ${ONLY}`]: {
    "a policy for another role": readBy("for select to rowhouse_tables using (true)"),
    "a policy for more roles": readBy("for select to rowhouse_reader, rowhouse_data using (true)"),
    "a policy for all roles": readBy("for select using (true)"),
    "a policy for writes": readBy("for all to rowhouse_reader using (true)"),
    "a policy with a check": readBy("for all to rowhouse_reader using (true) with check (true)"),
    "a policy of another text": readBy("for select to rowhouse_reader using (app_id is not null)"),
    "a policy that narrows": readBy("as restrictive for select to rowhouse_reader using (true)"),
  },
  [`Table data.heard ${ONLY}; ${BOTH}`]: {
    "a policy of another name": "alter policy reader on data.heard rename to finder",
  },
  [BOTH]: {
    "a dropped policy": DROP_READER,
    "a lost right": "revoke select on data.heard from rowhouse_reader",
  },
  "Table rowhouse.proofs must have only the tenant policy": {
    "a policy on a table of the service":
      "create policy reader on rowhouse.proofs for select to rowhouse_reader using (true)",
  },
  [`Relation data.heard ${GRANTED}`]: {
    "a right to write": "grant insert on data.heard to rowhouse_reader",
    "a right to pass on": "grant select on data.heard to rowhouse_reader with grant option",
  },
  [`Relation rowhouse.proofs ${GRANTED}; ${NO_RIGHT} table rowhouse.proofs`]: {
    "a right on proofs": "grant select on rowhouse.proofs to rowhouse_reader",
  },
  [`${NO_RIGHT} table rowhouse.users`]: {
    "a right on a table of the service": "grant select on rowhouse.users to rowhouse_reader",
  },
  [`${NO_RIGHT} column id of table rowhouse.users`]: {
    "a right on a column": "grant select (id) on rowhouse.users to rowhouse_reader",
  },
  [`${NO_RIGHT} function rowhouse.list_origins()`]: {
    "a function that reads": "grant execute on function rowhouse.list_origins to rowhouse_reader",
  },
  "": {
    "no fault in a function that builds a text":
      "grant execute on function rowhouse.columns_in to rowhouse_reader",
    "no fault in a table of an earlier release": `${DROP_READER}; revoke select on data.heard from rowhouse_reader`,
    "no fault in the functions of the release": RELEASE,
  },
  [`${NO_RIGHT} schema rowhouse`]: {
    "a right to create": "grant create on schema rowhouse to rowhouse_reader",
  },
  [`${NO_RIGHT} schema api`]: {
    "a right on functions of tables": "grant usage on schema api to rowhouse_reader",
  },
  [`${MEMBER} rowhouse_owner`]: {
    "a lasting member": "grant rowhouse_reader to rowhouse_owner",
  },
  [`${MEMBER} rowhouse_service; Role rowhouse_service must not be a member of rowhouse_reader`]: {
    "a serving role as a member": "grant rowhouse_reader to rowhouse_service",
  },
  [`${MEMBER} ${LOGIN}`]: { "a login as a member": `grant rowhouse_reader to ${LOGIN}` },
  "Role rowhouse_reader must be a member of no other role": {
    "a membership of the reader": "grant rowhouse_rows to rowhouse_reader",
  },
  "Role rowhouse_reader must exist, without SUPERUSER, BYPASSRLS and LOGIN": {
    "a reader that signs in": "alter role rowhouse_reader login",
    "a reader without row security": "alter role rowhouse_reader bypassrls",
  },
  [`Role rowhouse_reader must own no table; ${OTHERS} table public.mine`]: {
    "a table of the reader":
      "create table public.mine (); alter table public.mine owner to rowhouse_reader",
  },
  [`${OTHERS} view public.mine`]: {
    "a view of the reader":
      "create view public.mine as select 1 as one; alter view public.mine owner to rowhouse_reader",
  },
  [`${OTHERS} function rowhouse.list_origins()`]: {
    "a function of the reader elsewhere":
      "grant create on schema rowhouse to rowhouse_reader; alter function rowhouse.list_origins owner to rowhouse_reader; revoke create on schema rowhouse from rowhouse_reader",
  },
  "Function find.planted must belong to rowhouse_reader and be a security definer": {
    "another owner of a finder": `${RELEASE} alter function find.planted owner to rowhouse_owner`,
    "a finder with its caller's rights": `${RELEASE} alter function find.planted security invoker`,
  },
  "Function find.planted must be granted to rowhouse_tenant only": {
    "a finder for public": `${RELEASE} grant execute on function find.planted to public`,
    "a finder for a serving role": `${RELEASE} grant execute on function find.planted to rowhouse_data`,
    "a finder to pass on": `${RELEASE} grant execute on function find.planted to rowhouse_tenant with grant option`,
  },
  "Function find.make must be granted to rowhouse_tables only": {
    "the maker of finders for the functions": `grant execute on function find.make to rowhouse_tenant`,
  },
  "Function find.heard__finder must be one of this release, with its body": {
    "another body of a table's finder": OTHER_FINDER,
  },
  "Function find.planted must be one of this release, with its body": {
    "an unknown finder": FIND,
    "another body of a finder": `${RELEASE} ${FIND.replace("create", "create or replace").replace("null::uuid", "'00000000-0000-0000-0000-000000000000'::uuid")}`,
  },
  "table find.planted_rows must not be in the schemas of apps' tables and functions": {
    "a table among the finders": "create table find.planted_rows (part text)",
  },
});

describe.each(["off", "on"])("with quote_all_identifiers %s, the guard", (isQuoted) => {
  const quoted = `set local quote_all_identifiers = ${isQuoted}`;
  test("finds no issue in listeners", async () => {
    expect(await findIssues(quoted)).toEqual([]);
    const renewed = `${DROP}; select rowhouse.fit_listeners('{heard}', 700)`;
    expect(await findIssues(`${quoted}; ${renewed}`)).toEqual([]);
  });

  test.each([...OF_LISTENERS, ...OF_READER])("finds $name", async ({ value: attack, expected }) => {
    const issues = (await findIssues(`${quoted}; ${attack}`)).join("; ");
    expect(issues.replaceAll('"', "")).toBe(expected);
  });
});

test("the guard waits for no lock on a table", async () => {
  await whileLocked(service.database.adminUrl, "heard", async () => {
    const issues = await findIssues("set local lock_timeout = 1");
    expect([issues, await countLockWaits(service.service.admin)]).toEqual([[], 0]);
  });
});
