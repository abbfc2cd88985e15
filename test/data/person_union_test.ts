/**
 * Queries of people whose rule has several alternatives, on a table most of whose rows they do not see: pages, conditions, orders,
 * counts and groups have the rows of the alternatives, each once.
 */
import { afterAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makePerson, signInAs } from "../support/people.ts";
import { getPersonKey, openToBrowsers } from "../support/person_keys.ts";
import { openTestService } from "../support/service.ts";
import { serveAnother } from "../support/shape.ts";

const ORIGIN = "https://wiki.example.org";
const NOTES = "/v1/data/db/notes";

const schema = defineSchema({
  teams: t.model({ name: t.string() }).allow("member", { read: true }),
  members: t
    .model({ person: t.uuid().required(), team: t.ref("teams").required(), isLead: t.boolean() })
    .index("person", "team"),
  notes: t
    .model({
      title: t.string(),
      owner: t.uuid().required(),
      team: t.ref("teams"),
      isOpen: t.boolean().required(),
      at: t.number().required(),
    })
    .index("owner", "id")
    .index("team", "id")
    .index("at", "id")
    .allow("member", {
      read: [{ owner: "me" }, { team: { memberOf: "members" } }],
      update: [{ owner: "me" }],
    })
    .allow("lead", {
      read: [
        { owner: "me", isOpen: true },
        { team: { memberOf: "members", where: { isLead: true } } },
      ],
    }),
});

type Row = Record<string, unknown> & { id: string };
const callers: Record<string, { id: string; key: string }> = {};
/** The rows that each person sees, by id. */
const seen: Record<string, Row[]> = {};

const service = await openTestService({
  identity: () => ({ cookieDomain: "example.org" }),
  service: { previews: ["filters", "browser"] },
});
const app = await service.makeApp(schema, { origins: [ORIGIN] });
await openToBrowsers(service, app);
await service.service.warm();
const admin = postgres(service.database.adminUrl, { max: 1, onnotice: () => undefined });
const roles: Readonly<Record<string, string>> = {
  few: "member",
  many: "member",
  lead: "lead",
  none: "member",
  edge: "lead",
};
for (const [name, role] of Object.entries(roles)) {
  const person = await makePerson(service, { app, role });
  const cookies = await signInAs(service, person);
  const { key } = await getPersonKey(service, { cookies, app, origin: ORIGIN });
  service.secrets.add(key);
  callers[name] = { id: person.id, key };
}
const teams = Array.from({ length: 12 }, () => Bun.randomUUIDv7());
await admin`insert into data.teams (app_id, id) select ${app.id}, unnest(${teams}::uuid[])`;
// Twice in a team; one team has most rows, and another the last ones.
const joined = { few: [0, 1, 1, 2], many: [3, 4, 5, 6], lead: [0, 2, 7], none: [11] };
for (const [name, places] of Object.entries(joined))
  for (const [n, place] of places.entries())
    await admin`insert into data.members (app_id, id, person, team, "isLead")
        values (${app.id}, gen_random_uuid(), ${callers[name]?.id ?? ""}, ${teams[place] ?? ""}, ${n !== 1})`;
const ids = ["few", "many", "lead"].map((name) => callers[name]?.id ?? "");
await admin`insert into data.notes (app_id, id, owner, team, "isOpen", at, title)
    select ${app.id}, gen_random_uuid(), case
        when n % 400 = 0 then (${ids}::uuid[])[1] when n % 30 = 1 then (${ids}::uuid[])[2]
        when n % 200 = 2 then (${ids}::uuid[])[3] else gen_random_uuid() end,
      case when n % 500 < 3 then (${teams}::uuid[])[1 + n % 500]
        when n % 40 = 5 then (${teams}::uuid[])[4] when n % 300 = 6 then (${teams}::uuid[])[5]
        when n > 19900 then (${teams}::uuid[])[6] when n % 7 = 0 then (${teams}::uuid[])[10] end,
      n % 3 = 0, n % 1000, 'note ' || n % 90
    from generate_series(1, 20000) as n`;
// After a page of 60 seen rows there are rows of the person that the rule removes.
await admin`insert into data.notes (app_id, id, owner, "isOpen", at, title)
    select ${app.id}, ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid,
      ${callers["edge"]?.id ?? ""}, n <= 60 or n > 125, n, 'edge ' || n
    from generate_series(1, 133) as n`;
await admin`vacuum analyze data.notes`;
for (const [name, { id }] of Object.entries(callers)) {
  const isLead = roles[name] === "lead";
  const rows = await admin<Row[]>`select * from data.notes as n where app_id = ${app.id} and (
        owner = ${id} and ("isOpen" or not ${isLead}) or exists (select from data.members as m
          where m.person = ${id} and m.team = n.team and ("isLead" or not ${isLead}))) order by id`;
  seen[name] = [...rows];
}
afterAll(async () => {
  await admin.end();
  await service.close();
});

type Page = { rows: Row[]; next?: string | null; hasMore: boolean; count?: number | null };
type Answer = { status: number; json: Page & { error?: string; message?: string } };

async function get(name: string, text: string, headers = {}): Promise<Answer> {
  const key = callers[name]?.key ?? null;
  const { status, json } = await service.call(app, `${NOTES}${text}`, { key, headers });
  return { status, json } as Answer;
}

/** All rows of a list, page by page. */
async function readAll(name: string, text: string): Promise<{ ids: string[]; pages: number }> {
  const shown = new Set(seen[name]?.map(({ id }) => id));
  const ids: string[] = [];
  let after = "";
  let pages = 0;
  for (;;) {
    const { status, json } = await get(name, `?${text}${after}`);
    const at = `after ${pages} pages, ${ids.length} of ${shown.size} rows: ${after}`;
    expect([at, status, json.message]).toEqual([at, 200, undefined]);
    ids.push(...json.rows.map(({ id }) => id));
    pages++;
    if (typeof json.next !== "string") return { ids, pages };
    const cursor = JSON.parse(Buffer.from(json.next, "base64url").toString()) as string[];
    expect(shown.has(cursor.at(-1) ?? "")).toBe(true);
    after = `&after=${json.next}`;
  }
}

describe.each(["few", "many", "lead", "none", "edge"])("%s", (name) => {
  test.each(["limit=60", "limit=60&order=id", "limit=60&order=id.desc"])(
    "reads every page of %s",
    async (text) => {
      const { ids } = await readAll(name, text);
      const expected = (seen[name] ?? []).map(({ id }) => id);
      expect(ids).toEqual(text.endsWith("desc") ? expected.reverse() : expected);
    },
  );

  test.each([
    ["title=eq.note 7", (row: Row) => row["title"] === "note 7"],
    ["isOpen=eq.true", (row: Row) => row["isOpen"] === true],
    [
      "title=like.*1*&isOpen=eq.false",
      (row: Row) => String(row["title"]).includes("1") && row["isOpen"] === false,
    ],
  ])("reads every page with the condition %s", async (text, isAsked) => {
    const expected = (seen[name] ?? []).filter(isAsked).map(({ id }) => id);
    expect((await readAll(name, `${text}&limit=10`)).ids).toEqual(expected);
    expect((await readAll(name, `${text}&limit=10&order=id.desc`)).ids).toEqual(expected.reverse());
  });

  test("begins after an id", async () => {
    const all = (seen[name] ?? []).map(({ id }) => id);
    const middle = all[Math.floor(all.length / 2)] ?? Bun.randomUUIDv7();
    const { ids } = await readAll(name, `id=gt.${middle}&limit=50`);
    expect(ids).toEqual(all.filter((id) => id > middle));
  });
});

describe.each(["few", "none"])("%s, who sees few rows", (name) => {
  test.each(["at", "at.desc", "title", "title.desc,at"])(
    "gets them in the order %s",
    async (order) => {
      const { ids } = await readAll(name, `order=${order}&limit=7`);
      const value = (row: Row, key: string) =>
        key === "at" ? Number(row["at"]) : String(row[key]);
      const keys = order.split(",");
      const isLast = order.endsWith("desc");
      const compare = (a: Row, b: Row): number => {
        for (const key of keys) {
          const [column = "", way] = key.split(".");
          const [one, other] = [value(a, column), value(b, column)];
          if (one !== other) return one < other === (way !== "desc") ? -1 : 1;
        }
        return a.id < b.id === !isLast ? -1 : 1;
      };
      expect(ids).toEqual((seen[name] ?? []).toSorted(compare).map(({ id }) => id));
    },
  );

  test("counts, groups and changes them", async () => {
    const shown = seen[name] ?? [];
    const { json } = await get(name, "?limit=1", { prefer: "count=exact" });
    expect(json.count).toBe(shown.length);
    const open = shown.filter((row) => row["isOpen"] === true);
    const counted = await get(name, "?limit=1&isOpen=eq.true", { prefer: "count=exact" });
    expect(counted.json.count).toBe(open.length);
    const { json: grouped } = await get(name, "/groups?by=isOpen");
    const { groups } = grouped as unknown as {
      groups: { by: { isOpen: boolean }; count: number }[];
    };
    expect(Object.fromEntries(groups.map(({ by, count }) => [String(by.isOpen), count]))).toEqual({
      ...(open.length === 0 ? {} : { true: open.length }),
      ...(shown.length === open.length ? {} : { false: shown.length - open.length }),
    });
    const own = shown.filter((row) => row["owner"] === callers[name]?.id && row["isOpen"] === true);
    const key = callers[name]?.key ?? null;
    const change = { method: "PATCH", json: { at: 5 }, key };
    const { json: changed } = await service.call(
      app,
      `${NOTES}?isOpen=eq.true&dryRun=true`,
      change,
    );
    expect(changed).toMatchObject({ count: own.length });
  });
});

test("who sees more rows than a walk visits sorts, skips, groups and changes them", async () => {
  const { id: many = "", key = null } = callers["many"] ?? {};
  await admin`insert into data.notes (app_id, id, owner, "isOpen", at, title)
    select ${app.id}, gen_random_uuid(), ${many}, true, 5000 + n, 'many' from generate_series(1, 10000) as n`;
  // Rows of others at the same places of every order.
  await admin`insert into data.notes (app_id, id, owner, "isOpen", at, title)
    select ${app.id}, gen_random_uuid(), gen_random_uuid(), true, 5000 + n, 'many' from generate_series(1, 10000) as n`;
  const page = async (text: string) => {
    const { status, json } = await get("many", `?select=at&limit=3${text}`);
    expect([text, status, json.message]).toEqual([text, 200, undefined]);
    return { at: json.rows.map((row) => row["at"]), next: json.next };
  };
  const first = await page("&order=title.desc,at.desc&title=eq.many");
  expect(first.at).toEqual([15_000, 14_999, 14_998]);
  const second = await page(`&order=title.desc,at.desc&title=eq.many&after=${first.next}`);
  expect(second.at).toEqual([14_997, 14_996, 14_995]);
  expect((await page("&order=at&at=gt.5000&offset=390")).at).toEqual([5391, 5392, 5393]);
  const all = seen["many"]?.length ?? 0;
  expect((await page("&order=id&offset=399")).at).toHaveLength(3);
  const { json } = await get("many", "/groups?by=title&sum=at&title=eq.many");
  expect(json).toMatchObject({ groups: [{ count: 10_000, sum: { at: "100005000" } }] });
  const counted = await get("many", "?limit=1", { prefer: "count=exact" });
  expect(counted.json.count).toBe(all + 10_000);
  const change = { method: "PATCH", json: { at: 1 }, key };
  const { json: dry } = await service.call(
    app,
    `${NOTES}?title=eq.many&at=gt.14990&limit=7&dryRun=true`,
    change,
  );
  expect(dry).toMatchObject({ count: 7, hasMore: true });
});

test("a list of several walks has any offset", async () => {
  expect(await get("few", "?offset=9999")).toMatchObject({ status: 200, json: { rows: [] } });
  expect(await get("few", "?offset=10000")).toMatchObject({ status: 200, json: { rows: [] } });
});

test("a person with more memberships than a list walks gets the same rows", async () => {
  const { id = "" } = callers["none"] ?? {};
  const TEXTS = ["?limit=5", "?limit=5&offset=3", "?order=id.desc&limit=5", "?isOpen=eq.true"];
  const ask = async (text: string) => {
    const { status, json } = await get("none", text);
    return [text, status, json.rows.map((row) => row.id), json.hasMore];
  };
  await admin`with teams as (insert into data.teams (app_id, id)
      select ${app.id}, gen_random_uuid() from generate_series(1, 1000) returning id)
    insert into data.members (app_id, id, person, team)
      select ${app.id}, gen_random_uuid(), ${id}, id from teams limit 999`;
  await admin`insert into data.notes (app_id, id, title, owner, "isOpen", at)
    select ${app.id}, gen_random_uuid(), 'mine', ${id}, n % 2 = 0, n from generate_series(1, 20) as n`;
  const walked = await Promise.all(TEXTS.map(ask));
  await admin`with teams as (insert into data.teams (app_id, id) values (${app.id}, gen_random_uuid()) returning id)
    insert into data.members (app_id, id, person, team)
      select ${app.id}, gen_random_uuid(), ${id}, id from teams`;
  expect(walked[0]?.[2]).toHaveLength(5);
  expect(await Promise.all(TEXTS.map(ask))).toEqual(walked);
  const { json: page } = await get("none", "?limit=5");
  const rest = await get("none", `?limit=1000&after=${page.next}`);
  expect(new Set([...page.rows, ...rest.json.rows].map((row) => row.id)).size).toBe(
    5 + rest.json.rows.length,
  );
  expect((await get("none", "/groups?by=isOpen")).status).toBe(200);
  const other = await serveAnother(service.database, { previews: ["browser"] });
  const headers = { authorization: `Bearer ${callers["none"]?.key ?? ""}`, origin: ORIGIN };
  const plain = (await (await fetch(`${other.url}${NOTES}?limit=5`, { headers })).json()) as Page;
  expect([plain.rows, Object.keys(plain)]).toEqual([
    page.rows,
    ["rows", "limit", "offset", "hasMore"],
  ]);
  await other.close();
});
