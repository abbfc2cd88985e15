/**
 * A session whose search path begins with a schema that has an operator, a function, a type or a table for every name in the
 * generated functions, and whose temporary schema has such types. Each of them fails when it is used. Every function
 * returns the same as in another session.
 */
import { afterAll, expect } from "bun:test";
import postgres from "postgres";
import { planGroups, readGroupQuery } from "../../src/data/query/group_query.ts";
import { isSorted, SQL, VALUES } from "../../src/kinds/mod.ts";
import { PREVIEWS } from "../../src/preview.ts";
import { setAppSwitch, toProof } from "../../src/records/apps/mod.ts";
import {
  ALL_ENDPOINTS,
  calledName,
  type Endpoint,
  type EndpointCall,
  type ServedSet,
  serveSet,
  setName,
  toColumnSet,
  toParameters,
  type Walk,
} from "../../src/tables/catalog/mod.ts";
import { EVERY_KIND } from "../contract/every_kind.ts";
import { LOGIN, withDatabase } from "../support/cluster.ts";
import { definitionOf, openTestService } from "../support/service.ts";
import { testUnlessCitus } from "../support/skip.ts";

/** Replaces every object of `pg_catalog` whose name occurs in a generated function, and every operator. */
const PLANT = `
  create schema hostile;
  grant usage on schema hostile to public;
  do $do$
  declare
    words text[] := array(select distinct word[1] from pg_proc
      cross join lateral regexp_matches(prosrc, '[a-z_][a-z0-9_]*', 'g') as word
      where pronamespace = 'api'::regnamespace);
    fails text := 'plpgsql as ''begin raise exception $$planted$$; end''';
    found record;
  begin
    for found in select oid, oprname, oprleft::regtype as l, oprright::regtype as r, oprresult::regtype as result
      from pg_operator where oprleft <> 0 and oprresult <> 0
    loop
      begin
        execute format('create function hostile."$%s"(%s, %s) returns %s language %s', found.oid, found.l, found.r, found.result, fails);
        execute format('create operator hostile.%s (leftarg = %s, rightarg = %s, function = hostile."$%s")', found.oprname, found.l, found.r, found.oid);
      exception when invalid_function_definition then null; -- of an internal type
      end;
    end loop;
    for found in select proname, oidvectortypes(proargtypes) as types, provariadic <> 0 as is_variadic,
        case when proretset then 'setof ' else '' end || format_type(prorettype, null) as result
      from pg_proc where pronamespace = 'pg_catalog'::regnamespace and proname = any (words)
    loop
      begin
        execute format('create function hostile.%I(%s) returns %s language %s', found.proname,
          case when found.is_variadic then 'variadic "any"' else found.types end, found.result,
          case when found.is_variadic then 'internal as ''pg_num_nulls''' else fails end);
      exception when invalid_function_definition or feature_not_supported or duplicate_function then null;
      end;
    end loop;
    for found in select typname from pg_type
      where typnamespace = 'pg_catalog'::regnamespace and typtype = 'b' and typname = any (words)
    loop
      execute format('create domain hostile.%I as pg_catalog.%1$I check (false)', found.typname);
    end loop;
    create type hostile.record as (a pg_catalog.int4);
    for found in select relname from pg_class
      where relnamespace = 'pg_catalog'::regnamespace and relname = any (words)
    loop
      execute format('create table hostile.%I ()', found.relname);
    end loop;
  end
  $do$;
  select (select pg_catalog.count(*) from pg_operator where oprnamespace = 'hostile'::regnamespace)::int4 as operators,
    (select pg_catalog.count(*) from pg_proc where pronamespace = 'hostile'::regnamespace and proname !~ '^[$]')::int4 as functions,
    (select pg_catalog.count(*) from pg_type where typnamespace = 'hostile'::regnamespace and typtype = 'd')::int4 as types`;

const idOf = (digit: number) => `00000000-0000-7000-8000-00000000000${digit}`;
const [ONE, TWO, THREE, LAST] = [idOf(1), idOf(2), idOf(3), idOf(4)];
const PLAN = {
  limit: 10,
  offset: 0,
  cursor: "id.asc",
  order: ["id"],
  picked: [],
  where: ["lte", "id", 1],
  parts: [{ sort: [["id", false, false]] }],
  byId: "asc",
};

/** The unique column. */
const SINGLE = "single";

const service = await openTestService({ service: { previews: PREVIEWS } });
const apps = [await service.makeApp(EVERY_KIND), await service.makeApp(EVERY_KIND)];
for (const { slug } of apps)
  for (const name of ["live", "history"] as const)
    await setAppSwitch(service.service, slug, [name, true]);
// Past a pooler, which would give the session's path to other clients.
const url = new URL(service.database.servingUrl);
url.host = new URL(service.database.adminUrl).host;
const sessions = apps.map(() => postgres(url.href, { max: 1, prepare: false }));
afterAll(async () => {
  for (const session of sessions) await session.end();
  await service.close();
});

testUnlessCitus("a cluster has no such schema")(
  "no function finds a name, a type or an operator through the search path",
  async () => {
    const planted = await withDatabase(service.database.adminUrl, async (admin) => {
      await admin.message(
        `grant temporary on database "${service.database.name}" to ${LOGIN}; select 1`,
      );
      return await admin.message(PLANT);
    });
    for (const count of Object.values(planted[0] ?? {})) expect(count).toBeGreaterThan(10);
    expect(planted).toHaveLength(1);
    const [, hostile] = sessions;
    await hostile?.unsafe("create domain pg_temp.text as pg_catalog.text check (false)");
    await hostile?.unsafe("create domain pg_temp.uuid as pg_catalog.uuid check (false)");
    await hostile?.unsafe("create type pg_temp.record as (a pg_catalog.int4)");
    await hostile?.unsafe("set search_path = hostile, pg_temp, pg_catalog");
    for (const table of definitionOf(EVERY_KIND).tables) {
      const { name } = table;
      const set = serveSet(toColumnSet(table), table);
      const results = await callAll(set, 0);
      expect(results.filter((text) => text.includes(LAST)).length).toBeGreaterThan(3);
      const upserted = results.flatMap((text) => /"results":\["(\w+)/.exec(text)?.[1] ?? []);
      const isUnique = set.columns.some(({ name }) => name === SINGLE);
      expect(upserted).toEqual(
        isUnique ? ["created", "unchanged", "updated", "updated", "unchanged", "updated"] : [],
      );
      expect([name, await callAll(set, 1)]).toEqual([name, results]);
    }
  },
);

/** The results of all functions, without what differs between two apps. */
async function callAll(set: ServedSet, index: number): Promise<string[]> {
  const [app, session] = [apps[index], sessions[index]];
  if (app === undefined || session === undefined) throw new Error("There is no such session");
  const proof = toProof(app.key.slice(app.key.indexOf(".") + 1));
  const results: string[] = [];
  for (const call of callsOf(set)) {
    const parameters = toParameters(set, { app: app.id, proof }, call);
    const list = parameters.map((_, position) => `$${position + 1}`).join(", ");
    const [row] = await session
      .unsafe(`select ${calledName(set, call.endpoint)}(${list}) as body`, parameters)
      .catch((error: Error) => [{ body: error.message }]);
    const text = String(row?.["body"]).replaceAll(app.id, "APP");
    // Tags and snapshots contain numbers of transactions, and the time is a default.
    results.push(
      `${call.endpoint} ${text.replaceAll(/[0-9a-f]{32}|\d+:\d+:[\d,]*|\d{4}-\d\d-\d\dT[\d:.]+/g, "")}`,
    );
  }
  return results;
}

/** Calls of every endpoint, which read and write each column. */
function callsOf({ name, columns, walks }: ServedSet): EndpointCall[] {
  const given = columns.filter(({ name, kind }) => kind !== "ref" && name !== SINGLE);
  const body = JSON.stringify(
    Object.fromEntries(
      given.map(({ name, kind }) => [name, VALUES[kind].sample({ values: ["red"] })]),
    ),
  );
  const [bodies, bytes, claim, match] = [
    `[${body},${body}]`,
    8_388_608,
    new Uint8Array(65).fill(1),
    "a",
  ];
  const page = { limit: 1, offset: 0, bytes, known: null, inline: null };
  const query = (plan: object): EndpointCall => ({
    endpoint: "find",
    values: { plan: JSON.stringify({ ...PLAN, ...plan }), values: [LAST], bytes, known: "a" },
  });
  const where = {
    ...{ plan: JSON.stringify(PLAN), values: [LAST] },
    ...{ limit: 1, isPart: true },
  };
  const picked = ["id", ...columns.map((column) => column.name)];
  const relation = { set: setName({ name, columns }), name: "r", picked, bytes, of: 1 };
  const children = { ...relation, of: undefined, limit: 1, by: "id", sort: [["id", true, true]] };
  const optional = { required: false, unique: false, index: false };
  const known = columns.map((column) => ({ ...column, ...optional }));
  const definition = { name: "a", columns: known, indexes: [], uniques: [] };
  const groups = (query: string): EndpointCall => {
    const recorded = { name: "a", definition, whole: definition };
    const { plan, values } = planGroups(readGroupQuery(query, definition), recorded, {
      ...{ appId: "", person: undefined },
    });
    return { endpoint: "find_groups", values: { plan, values, bytes, known: "a" } };
  };
  const grouped = columns.filter(isSorted);
  const summed = columns.filter(({ kind }) => VALUES[kind].aggregates?.includes("sum") === true);
  const single = columns.findIndex(({ name }) => name === SINGLE);
  const kind = columns[single]?.kind;
  const unique = kind === undefined ? null : VALUES[kind].sample({ values: [] });
  const whole = { ...JSON.parse(body), [SINGLE]: unique };
  const upserts = [whole, whole, { ...whole, plain: null }].map((row, nth): EndpointCall => {
    const indexes = ["key", "search_key"].map((end) => `${name}__${SINGLE}__${end}`);
    const found = { unique: [single + 1], indexes, sequence: [1], isIgnored: false };
    return {
      endpoint: "upsert",
      values: { ids: [idOf(5 + nth)], bodies: JSON.stringify([row]), ...found, bytes, claim: null },
    };
  });
  const keyed = upserts.flatMap(({ endpoint, values }): EndpointCall[] => {
    if (endpoint !== "upsert") return [];
    const { bodies, unique, indexes } = values;
    return [{ endpoint: "update_keyed", values: { bodies, unique, indexes, bytes, claim: null } }];
  });
  const changes = (since: string | null): EndpointCall => ({
    endpoint: "changes",
    values: { since, limit: 10, bytes },
  });
  return [
    changes(null),
    { endpoint: "create", values: { id: ONE, body, bytes, claim } },
    { endpoint: "create", values: { id: ONE, body, bytes, claim } },
    { endpoint: "create", values: { id: ONE, body, bytes, claim: null } },
    { endpoint: "create_many", values: { ids: [TWO, THREE], bodies, bytes, claim: null } },
    { endpoint: "create_many", values: { ids: [TWO, THREE], bodies: "[{},{}]", bytes, claim } },
    { endpoint: "create_group", values: { ids: [THREE, LAST], bodies, bytes, claims: null } },
    { endpoint: "create_group", values: { ids: [LAST], bodies, bytes, claims: [claim] } },
    { endpoint: "list", values: page },
    { endpoint: "list", values: { ...page, limit: 9, bytes: 150 } },
    { endpoint: "get", values: { id: ONE, bytes } },
    { endpoint: "get", values: { id: ONE, bytes: 1 } },
    query({}),
    query({
      limit: 1,
      counted: 5,
      picked: ["id", SINGLE],
      parts: [{ sort: [["id", true, false]] }],
    }),
    ...columns.flatMap(({ name: column, kind }) => {
      if (VALUES[kind].operators.length === 0) return [];
      const parts = [
        { where: ["not", ["null", column]], sort: [[column, true, true]] },
        { where: ["null", column], sort: [["id", true, false]] },
      ];
      const after = [
        "or",
        ["row", "gte", ["id", "id"], [1, 1]],
        ["in", "id", 1, 1],
        ["set", "id", 1],
      ];
      return [query({ where: undefined, parts }), query({ where: after, parts, counted: 5 })];
    }),
    query({ related: [relation, children] }),
    query({ related: [{ ...children, related: [relation] }] }),
    ...walks.flatMap((walk) => [toCall(walk, {}), toCall(walk, { isDescending: true, limit: 1 })]),
    groups(""),
    ...grouped.map(({ name }) => groups(`by=${name},id&${name}=not.is.null`)),
    ...summed.map(({ name }) => groups(`sum=${name}&avg=${name}&min=${name}&max=${name}`)),
    ...upserts,
    ...keyed,
    { endpoint: "update", values: { id: ONE, body, bytes, match: null, claim: null } },
    { endpoint: "update", values: { id: ONE, body: "{}", bytes, match, claim: null } },
    {
      endpoint: "create_many",
      values: { ids: [TWO, ONE], bodies: `{"updates":${bodies}}`, bytes, claim: null },
    },
    {
      endpoint: "update_many",
      values: { ids: [TWO], bodies: `[{"ifMatch":"${match}"}]`, bytes, claim },
    },
    { endpoint: "delete", values: { id: ONE, match } },
    { endpoint: "delete", values: { id: ONE, match: null } },
    { endpoint: "update_found", values: { ...where, isDry: true, body, bytes, claim: null } },
    { endpoint: "update_found", values: { ...where, isDry: false, body, bytes, claim: null } },
    { endpoint: "delete_found", values: { ...where, isDry: true, claim: null } },
    { endpoint: "delete_found", values: { ...where, isDry: false, claim: null } },
    changes("a"),
  ];
}

const NO_TABLE = { name: "a", columns: [], indexes: [], uniques: [] };

/** A page of all rows along an index. */
function toCall({ index, columns }: Walk, asked: { isDescending?: boolean; limit?: number }) {
  const { isDescending = false, limit = 10 } = asked;
  const ends = columns.flatMap(({ kind }) => {
    const { ends: [lowest, highest] = ["", ""], parts } = SQL[kind];
    const rest = parts?.restEnds === undefined ? [] : [parts.restEnds];
    return [[lowest, highest] as const, ...rest];
  });
  const [lowest, highest] = [ends.map(([low]) => low), ends.map(([, high]) => high)];
  const [start, stop] = isDescending ? [highest, lowest] : [lowest, highest];
  const { length } = columns;
  const values = { index, isDescending, start, stop, nulls: length > 1 ? start.slice(2) : null };
  const rest = { limit, picked: limit === 1 ? [1] : [], order: [1], cursor: "id.asc" };
  return {
    endpoint: "walk",
    values: { ...values, ...rest, bytes: 8_388_608, known: "", inline: null },
  } as const;
}

testUnlessCitus("a cluster has other endpoints")("every endpoint is called", async () => {
  const called = new Set<Endpoint>(
    callsOf(serveSet(NO_TABLE, NO_TABLE)).map((call) => call.endpoint),
  );
  expect([...called].toSorted()).toEqual([...ALL_ENDPOINTS].toSorted());
});
