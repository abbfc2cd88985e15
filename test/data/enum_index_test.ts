/** Indexes with enums: each answers the same as a client's own filter, with an enum in every position. */
import { expect } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const testOne = testUnlessCitus("a cluster has no query functions");
const STATUSES = ["open", "it's", 'a "b"\\', "lost"] as const;
const MANY = ["a", "b", "c", "d", "e", "f", "g", "h", "i"] as const;
const model = () =>
  t.model({
    status: t.enum(STATUSES).required(),
    mood: t.enum(["good", "bad"]),
    many: t.enum(MANY).required(),
    team: t.integer().required(),
    due_at: t.date(),
    title: t.string(),
    code: t.integer(),
    level: t.enum(["low", "high"]),
  });
/** The same rows with and without indexes. */
const schema = defineSchema({
  plain: model(),
  keyed: model()
    .index("status", "due_at")
    .index("mood", "title")
    .index("team", "status", "due_at")
    .index("due_at", "mood")
    .index("team", "mood")
    .index("many", "team")
    .index("status", "mood", "team")
    .unique("mood", "code")
    .unique("level", "title"),
  ranked: t
    .model({ team: t.integer().required(), status: t.enum(STATUSES), rank: t.integer().required() })
    .index("team", "status", "rank"),
  medals: { kind: t.enum(["gold", "silver"]).unique() },
});
const ROWS = 72;
const LEVELS = [null, "low", "high"] as const;

type Row = Record<string, unknown> & { id: string };

const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(schema);
const rows = Array.from({ length: ROWS }, (_, n) => ({
  status: STATUSES[n % 7 === 0 ? 3 : n % 3],
  mood: [null, "good", "bad", "good"][n % 4],
  many: MANY[n % 9],
  team: n % 5,
  due_at: n % 6 === 0 ? null : `2026-01-${String((n % 28) + 1).padStart(2, "0")}`,
  title: n % 8 === 0 ? null : `Title ${n % 10}${n % 2 === 0 ? "x".repeat(70) : ""}${n}`,
  code: n % 9 === 0 ? null : n,
  level: LEVELS[n % 3],
}));
for (const table of ["plain", "keyed"])
  for (let start = 0; start < ROWS; start += 24) {
    const json = rows.slice(start, start + 24);
    const { status } = await service.call(app, `/v1/data/db/${table}`, { method: "POST", json });
    expect(status).toBe(201);
  }

/** All pages of a list, or its error. */
async function readAll(table: string, query: string): Promise<unknown[] | string> {
  const codes: unknown[] = [];
  let after = "";
  for (let pages = 1; pages < 200; pages++) {
    const path = `/v1/data/db/${table}?${query}${after}`;
    const { status, json, text } = await service.call(app, path);
    if (status !== 200) return (json as { error?: string }).error ?? text;
    const { rows, next } = json as { rows: Row[]; next: string | null };
    codes.push(...rows.map(({ code, title, due_at }) => `${code} ${title} ${due_at}`));
    if (next === null) return codes;
    after = `&after=${next}`;
  }
  throw new Error(`Too many pages: ${query}`);
}

const encode = encodeURIComponent;
const ways = ["", ".desc"];
/** Queries of rows with a value of an enum, or of all values. */
const SERVED = [
  ...STATUSES.flatMap((status) =>
    ways.flatMap((way) => [
      `status=eq.${encode(status)}&order=due_at${way}`,
      `status=eq.${encode(status)}&due_at=gte.2026-01-09&order=due_at${way}`,
      `status=eq.${encode(status)}&due_at=not.is.null&due_at=lt.2026-01-20&order=due_at${way}`,
      `status=eq.${encode(status)}&due_at=is.null&order=id${way}`,
      `team=eq.2&status=eq.${encode(status)}&due_at=not.is.null&order=due_at${way}`,
      `team=eq.2&status=eq.${encode(status)}&order=code`,
    ]),
  ),
  ...ways.flatMap((way) => [
    `mood=eq.good&order=title${way}`,
    `mood=eq.bad&title=like.Title 2*&order=title${way}`,
    `mood=is.null&order=title${way}`,
    `mood=is.null&title=not.is.null&order=title${way}`,
    `mood=eq.bad&title=is.null&order=id${way}`,
    `mood=eq.bad&due_at=gt.2026-01-05&order=due_at${way}`,
    `mood=is.null&order=due_at${way}`,
    `team=eq.1&mood=eq.good&order=id${way}`,
    `team=eq.1&mood=is.null&order=id${way}`,
    // The index of the value has another order, and rows without a value in its next column.
    `mood=is.null&order=code${way}`,
    `mood=eq.good&order=code${way}`,
    `mood=eq.bad&title=gte.Title 3&order=code${way}`,
    `status=eq.open&order=code${way}`,
    `status=in.(open,lost)&order=title${way}`,
    // Without a condition on the enum, all of its rows.
    `team=eq.3&order=due_at${way}`,
    `team=eq.3&mood=in.(good,bad)&order=code${way}`,
    `due_at=gte.2026-01-03&due_at=lt.2026-01-09&mood=not.eq.good&order=code${way}`,
  ]),
  "mood=eq.bad&code=eq.22",
  "mood=eq.good&code=eq.22",
  `level=eq.low&title=eq.${encode(`Title 8${"x".repeat(70)}28`)}`,
  `level=eq.high&title=eq.${encode(`Title 8${"x".repeat(70)}28`)}`,
];

for (const query of SERVED)
  testOne(`${query} has the same rows with and without indexes`, async () => {
    const [found, wanted] = [
      await readAll("keyed", `${query}&limit=7`),
      await readAll("plain", query),
    ];
    expect(found).toEqual(wanted);
  });

for (const query of ["status=eq.open", "status=in.(open,lost)", "mood=is.null", "mood=eq.good"])
  testOne(`${query} has the rows without a value in the next column in another order`, async () => {
    const sorted = `${query}&order=code`;
    expect(await readAll("keyed", sorted)).toEqual(await readAll("plain", sorted));
    const [keyed, plain] = await Promise.all(
      ["keyed", "plain"].map(
        async (table) =>
          (await service.call(app, `/v1/data/db/${table}/groups?${query}&by=due_at`)).json,
      ),
    );
    expect(keyed).toEqual(plain);
  });

/** Every value of an enum, in a unique index of only that enum. */
testOne("a unique enum finds its row", async () => {
  for (const kind of ["gold", "silver"]) {
    const { status } = await service.call(app, "/v1/data/db/medals", {
      method: "POST",
      json: { kind },
    });
    expect(status).toBe(201);
  }
  await service.call(app, "/v1/data/db/medals", {
    method: "POST",
    json: [{ kind: null }, { kind: null }],
  });
  const { json } = await service.call(app, "/v1/data/db/medals?kind=eq.silver");
  expect(json).toMatchObject({ rows: [{ kind: "silver" }], next: null });
  const again = await service.call(app, "/v1/data/db/medals", {
    method: "POST",
    json: { kind: "gold" },
  });
  expect(again.json).toMatchObject({ error: "unique_violation", details: [{ path: "/kind" }] });
});

testOne("the end of the rows of one value is not the end of those of the next", async () => {
  const json = Array.from({ length: 60 }, (_, n) => ({
    ...{ team: n % 2, rank: n },
    status: [null, ...STATUSES][n % 5],
  }));
  const created = await service.call(app, "/v1/data/db/ranked", { method: "POST", json });
  expect(created.status).toBe(201);
  const ranks = json.filter(({ team, rank }) => team === 1 && rank < 40).map(({ rank }) => rank);
  const path = "/v1/data/db/ranked";
  const listed = await service.call(app, `${path}?team=eq.1&rank=lt.40&order=status,rank`);
  const { rows } = listed.json as { rows: Row[] };
  expect(rows.map(({ rank }) => rank as number).sort((a, b) => a - b)).toEqual(ranks);
  const grouped = await service.call(app, `${path}/groups?team=eq.1&rank=lt.40`);
  expect(grouped.json).toEqual({ groups: [{ by: {}, count: ranks.length }] });
  const counted = await service.call(app, `${path}?team=eq.1&rank=lt.40&order=status&limit=1`, {
    headers: { prefer: "count=exact" },
  });
  expect(counted.json).toMatchObject({ count: ranks.length });
});
