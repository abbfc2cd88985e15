/**
 * What is left if a function that finds rows were replaced by one that returns every id: the functions that return and write rows apply
 * the app, the rule and the columns again, so nothing shows or changes a hidden row or a row of another app.
 */
import { beforeAll, expect, test } from "bun:test";
import postgres from "postgres";
import { setAppSwitch, toProof } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { mintPersonKey } from "../support/minted_key.ts";
import { type Call, openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

const OWN = { owner: "me" } as const;
const schema = defineSchema({
  boxes: t
    .model({ name: t.string().required(), owner: t.uuid().required() })
    .allow("member", { read: OWN, update: OWN }),
  things: t
    .model({
      name: t.string().required(),
      owner: t.uuid().required(),
      box: t.ref("boxes"),
      cost: t.integer().only("admin"),
      at: t.integer().required(),
      isFree: t.boolean().required(),
    })
    .index("at")
    .index("owner", "at")
    .allow("member", { read: [OWN, { isFree: true }], update: OWN, delete: OWN })
    .allow("admin", "everything"),
});

const service = await share(
  openTestService({ service: { ...UNGUARDED, previews: ["filters", "live", "browser"] } }),
);
const superuser = await share(openSuperuser());
const apps = [await service.makeApp(schema), await service.makeApp(schema)] as const;
const [app, other] = apps;
const me = crypto.randomUUID();
const key = await mintPersonKey(service.service.admin, {
  ...{ app: app.id, person: me, role: "member" },
});
service.secrets.add(key);
await setAppSwitch(service.service, app.slug, ["browser", true]);

async function openSuperuser() {
  const sql = postgres(service.database.superuserUrl, { max: 1, onnotice: () => undefined });
  return { sql, close: () => sql.end() };
}

type Row = Record<string, unknown> & { id: string };
const { sql } = superuser;
for (const { id: appId } of apps)
  await sql`with boxes as (
      insert into data.boxes (app_id, id, name, owner)
      select ${appId}, gen_random_uuid(), case when n = 1 and ${appId} = ${app.id} then 'mine' else 'secret box' end,
        case when n = 1 and ${appId} = ${app.id} then ${me}::uuid else gen_random_uuid() end
      from generate_series(1, 2) as n returning id)
    insert into data.things (app_id, id, name, owner, box, cost, at, "isFree")
      select ${appId}, gen_random_uuid(), case when n % 2 = 0 and ${appId} = ${app.id} then 'mine' else 'secret ' || n end,
        case when n % 2 = 0 and ${appId} = ${app.id} then ${me}::uuid else gen_random_uuid() end,
        boxes.id, 987654, n, ${appId} = ${app.id} and n = 7
      from boxes, generate_series(1, 12) as n`;
await sql`update data.things set name = 'free' where "isFree"`;
const all = await sql<(Row & { app_id: string })[]>`select * from data.things`;
const boxes = await sql<(Row & { app_id: string })[]>`select * from data.boxes`;
const isMine = (row: Row) => row["owner"] === me || row["isFree"] === true;
const idsOf = (rows: readonly Row[]) => rows.map(({ id }) => id);
const ofOthers = idsOf([...all, ...boxes].filter((row) => row["app_id"] !== app.id));
// Without the boxes of the app: a row that the person sees has the id of its box.
const hidden = [...ofOthers, ...idsOf(all.filter((row) => !isMine(row)))];

/** Every id of the app and of the other one, whatever was asked. */
const EVERY = (table: string, apps: string) =>
  `(select array_agg(id order by random()) from data.${table} where app_id in (${apps}))`;
const quoted = apps.map(({ id }) => `'${id}'`).join(", ");
const found = ["things", "boxes"]
  .map((table) => `when '${table}' then ${EVERY(table, quoted)}`)
  .join(" ");
const PLANTED = `
create or replace function find.page(app uuid, who uuid, terms jsonb, rule text, plan jsonb,
  given text[], wanted int4, among uuid[], out ids uuid[], out total int8)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  ids := case terms ->> 'table' ${found} end;
  total := cardinality(ids);
end
$$;
create or replace function find.children(app uuid, who uuid, parents uuid[], most int4, name text,
  seen text, by_reference text, in_order text, out owners int4[], out places tid[], out longer int4[])
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  places := array(select ctid from data.things order by random());
  owners := array_fill(1, array[cardinality(places)]);
end
$$;
create or replace function find.things__finder(uuid, text, bool, text[], text[], text[], int4)
returns tid[] language plpgsql stable security definer as $$
begin
  return (select array_agg(ctid order by random()) from data.things);
end
$$;`;

beforeAll(async () => {
  await sql.unsafe(PLANTED);
});

async function ask(path: string, call: Call = {}) {
  const { status, text } = await service.call(undefined, `/v1/data/db/${path}`, { key, ...call });
  // A cursor is base64url.
  const next = /"next":"([^"]+)"/.exec(text)?.[1] ?? "";
  return { status, text: `${text} ${Buffer.from(next, "base64url")}` };
}

function expectNone(text: string, ids: readonly string[], ...secrets: string[]): void {
  for (const secret of [...ids, ...secrets]) expect(text).not.toContain(secret);
}

test.each([
  "things?at=gt.0&limit=100",
  "things?order=at.desc,id&limit=100&select=id,name,at",
  "things?order=id&limit=3&at=gt.0",
  "things?order=at&limit=1&at=gt.0",
  "things?order=id&limit=5&offset=2&at=lt.7",
  "things?at=gt.0&select=name,box(name)&limit=100",
  "things?box.name=like.*&limit=100",
  `things?owner=eq.${me}&order=at&limit=100`,
  `things?owner=eq.${me}&order=at.desc&limit=3`,
  `things?owner=eq.${me}&order=at&limit=100&select=name,at`,
  "boxes?name=eq.mine&select=name,things(name,at)&things.limit=30",
  "boxes?order=name&limit=10&select=name,things(name)&things.limit=3&things.order=at.desc",
])("a person's %s has only visible rows and columns", async (path) => {
  const { status, text } = await ask(path);
  expect({ status, text }).toMatchObject({ status: 200 });
  expectNone(text, hidden, "secret", "987654", "cost");
  // The planted finder returns ids in any order.
  expect(text).toMatch(/mine|free/);
});

test.each(["things?order=at&limit=100", "things?order=at&limit=3&select=name,owner"])(
  "an app's %s has no row of another app",
  async (path) => {
    const { status, text } = await ask(path, { key: app.key });
    expect({ status, text }).toMatchObject({ status: 200 });
    expectNone(text, ofOthers);
    expect(text).toMatch(/secret|mine|free|null/);
  },
);

test("a page has the tag of its visible rows", async () => {
  const path = "/v1/data/db/boxes?name=eq.mine&limit=50";
  const first = await service.call(undefined, path, { key });
  await sql`update data.boxes set name = name || '!' where name like 'secret%'`;
  const again = await service.call(undefined, path, { key });
  expect(again.headers.get("etag")).toBe(first.headers.get("etag") ?? "none");
  await sql`update data.boxes set name = 'secret box' where name like 'secret%'`;
});

test.each(["things?at=gt.0&limit=100", "boxes?name=neq.x&select=name,things(name)&things.limit=9"])(
  "an API key's %s has only rows of the app",
  async (path) => {
    const { status, text } = await ask(path, { key: app.key });
    expect({ status, text }).toMatchObject({ status: 200 });
    expectNone(text, ofOthers, other.id);
  },
);

test("no set of ids has one of a hidden row", async () => {
  const login = postgres(service.database.superuserUrl, { max: 1, prepare: false });
  const found = await login<{ name: string }[]>`select left(proname, -6) as name from pg_proc
    where pronamespace = 'api'::regnamespace and proname ~ '^(boxes|things)__.*_terms$'`;
  const proof = Buffer.from(toProof(key.slice(key.indexOf(".") + 1)));
  const sets: string[] = [];
  for (const { name } of found) {
    const plan = { limit: 1000, parts: [{}] };
    const asked = JSON.stringify([{ at: 1, of: name, path: "box", plan, values: [] }]);
    await login
      .begin(async (session) => {
        await session`set local role rowhouse_tenant`;
        const rows =
          await session`select (rowhouse.find_referenced(${app.id}, ${proof}, ${asked}::text::jsonb, '{""}'))[1] as ids`;
        sets.push(String(rows[0]?.["ids"]));
      })
      .catch(({ code }) => expect(code).toBe("RH401"));
  }
  await login.end();
  expect(sets.flatMap((ids) => ids.split(",")).sort()).toEqual(
    idsOf([...all, ...boxes].filter(isMine)).sort(),
  );
});

const counts = { member: all.filter((row) => row["owner"] === me).length, app: all.length / 2 };

test.each([
  ["a person", () => key, hidden, counts.member],
  ["an API key", () => app.key, ofOthers, counts.app],
] as const)(
  "a dry run of %s names and counts only rows that the caller writes",
  async (_, of, ids, count) => {
    for (const call of [{ method: "DELETE" }, { method: "PATCH", json: { name: "x" } }]) {
      const { status, text } = await ask("things?at=gt.0&dryRun=true", { ...call, key: of() });
      expect({ status, text }).toMatchObject({ status: 200 });
      expect(JSON.parse(text)).toMatchObject({ count });
      expectNone(text, ids);
    }
  },
);

test.each([
  ["a person", () => key, counts.member],
  ["an API key", () => app.key, counts.app],
] as const)("a write of %s changes only rows that the caller writes", async (_, of, count) => {
  const read = () => sql<Row[]>`select id, name, xmin::text from data.things order by id`;
  const before = await read();
  const changed = { method: "PATCH", json: { name: `by ${of().slice(0, 4)}` }, key: of() };
  const { status, text } = await ask("things?at=gt.0", changed);
  expect({ status, text }).toMatchObject({ status: 200 });
  expect(JSON.parse(text)).toMatchObject({ count });
  const after = new Map((await read()).map((row) => [row.id, row]));
  const isWritten = ({ id }: Row) =>
    after.get(id)?.["name"] !== before.find((row) => row.id === id)?.["name"];
  const written = before.filter(isWritten).map(({ id }) => id);
  expect(written).toHaveLength(count);
  expectNone(written.join(" "), of() === key ? hidden : ofOthers);
});

test("a delete of a part deletes only rows that the caller writes", async () => {
  const { text } = await ask("things?at=gt.0&limit=1000", { method: "DELETE" });
  expect(JSON.parse(text)).toMatchObject({ count: counts.member });
  const left = await sql<Row[]>`select id from data.things`;
  const gone = all.filter(({ id }) => !left.some((row) => row.id === id));
  expect(gone.map((row) => row["owner"])).toEqual(Array.from({ length: counts.member }, () => me));
});

test("the guard finds the planted functions", async () => {
  const [row] = await sql<{ issues: string[] }[]>`select rowhouse.find_issues() as issues`;
  expect(row?.issues).toEqual(
    ["children", "page", "things__finder"].map(
      (name) => `Function find.${name} must be one of this release, with its body`,
    ),
  );
});
