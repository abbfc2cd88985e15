/** Groups of rows with the preview on: their keys, values, order, tags and limits. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { MAX_GROUP_KEY_BYTES, MAX_GROUPS } from "../../src/std/limits.ts";
import { cases } from "../support/cases.ts";
import { codeOf } from "../support/problem.ts";
import { expectSentences } from "../support/sentences.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({
  projects: { name: t.string().required() },
  tasks: t
    .model({
      status: t.enum(["open", "done"]),
      title: t.string(),
      place: t.string().index(),
      done: t.boolean(),
      project: t.ref("projects"),
      hours: t.number(),
      pieces: t.integer(),
      price: t.decimal().index(),
      at: t.timestamp(),
      day: t.date(),
      meta: t.json(),
      by: t.number(),
    })
    .index("status", "at"),
});
const TASKS = "/v1/data/db/tasks";

const LONG = `${"9".repeat(390)}.5`;
const DAYS = '{"at":"2025-01-01T00:00:00+00:00","day":"2026-02-28"}';
const ROWS = [
  { status: "done", title: "é", done: true, hours: 0.1, pieces: 1, price: "12.50", by: 1 },
  { status: "open", title: "a", done: true, hours: 0.2, pieces: 9_007_199_254_740_991 },
  { status: "open", title: "B", done: false, hours: 1e21, pieces: 9_007_199_254_740_991 },
  { status: "open", title: "a", hours: -0, price: "1.0", at: "2026-01-02T00:00:00.000001+01:00" },
  { title: "", price: "1.00", at: "2025-01-01T00:00:00Z", day: "2026-02-28" },
  { price: LONG, day: "2024-02-29" },
];
const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(schema);
const other = await service.makeApp(schema);
for (const user of [app, other]) await create(user, ROWS);

async function create(user: TestApp, rows: readonly object[], at = service): Promise<void> {
  for (let start = 0; start < rows.length; start += 1000) {
    const json = rows.slice(start, start + 1000);
    const { status, text } = await at.call(user, TASKS, { method: "POST", json });
    if (status !== 201) throw new Error(text);
  }
}

type Group = { readonly by: object; readonly count: number };

/** The values of a group, its count, and what is computed. */
function toText({ by, count, ...computed }: Group): string {
  const values = Object.values(by).map((value) => JSON.stringify(value));
  const others = Object.entries(computed).flatMap(([name, of]) => [name, JSON.stringify(of)]);
  return [...values, count, ...others].join(" ");
}

async function group(query: string, user = app): Promise<readonly Group[]> {
  const { status, json, text } = await service.call(user, `${TASKS}/groups?${query}`);
  if (status !== 200) throw new Error(text);
  return (json as { groups: Group[] }).groups;
}

describe("groups", () => {
  test.each(cases("query", "groups")`
    | 6
    title=eq.nothing | 0
    title=eq.nothing&by=title |
    by=status                                            | "open" 3 / "done" 1 / null 2
    by=title                                             | "" 1 / "B" 1 / "a" 2 / "é" 1 / null 1
    status=eq.open&by=done                               | false 1 / true 1 / null 1
    status=in.(open,done)&by=status                      | "open" 3 / "done" 1
    by=hours&hours=lt.0.1                                | 0 1
    by=price&price=in.(1.000,12.5)                       | "1.00" 2 / "12.50" 1
    by=price&sum=price&price=lt.2                        | "1.00" 2 sum {"price":"2.00"}
    by=status&sum=by&and=(by.eq.1)                       | "done" 1 sum {"by":"1"}
    or=(title.ilike.A,status.is.null)&by=status&sum=hours | "open" 2 sum {"hours":"0.2"} / null 2 sum {"hours":null}
    by=done,status&title=not.is.null                     | false "open" 1 / true "open" 1 / true "done" 1 / null "open" 1 / null null 1
    sum=hours,pieces                                     | 6 sum {"hours":"1000000000000000000000.3","pieces":"18014398509481983"}
    avg=pieces,hours                                     | 6 avg {"pieces":"6004799503160661","hours":"250000000000000000000.1"}
    min=hours&max=hours                                  | 6 min {"hours":0} max {"hours":1e+21}
    min=price&max=price&price=lt.100                     | 3 min {"price":"1.00"} max {"price":"12.50"}
    avg=price&status=is.null&price=lt.5                  | 1 avg {"price":"1"}
    min=at,day&max=at,day&status=is.null&price=lt.5      | 1 min ${DAYS} max ${DAYS}
    max=price                                            | 6 max {"price":"${LONG}"}
    sum=price&max=price&price=gt.100                     | 1 sum {"price":"${LONG}"} max {"price":"${LONG}"}
  `)("?$query", async ({ query, groups }) => {
    expect((await group(query)).map(toText).join(" / ")).toBe(groups);
  });

  test.each([
    "by=meta",
    "by=status,title,done",
    "sum=title",
    "avg=at",
    "min=status",
    "max=done",
    "sum=hours,pieces,price,by&avg=hours,pieces,price,by&min=hours,pieces,price",
    "limit=3",
    "by=status&order=status",
    "offset=0&after=x&select=id",
  ])("?%s is not supported", async (query) => {
    const { status, text } = await service.call(app, `${TASKS}/groups?${query}`);
    expect([status, codeOf(text)]).toEqual([400, "unsupported_query"]);
    expectSentences(JSON.parse(text).message, {});
  });

  test.each(["by=", "by=nothing", "by=status,status", "by=status&by=done", "sum=app_id", "x=eq.1"])(
    "?%s is not valid",
    async (query) => {
      const { status, text } = await service.call(app, `${TASKS}/groups?${query}`);
      expect([status, codeOf(text)]).toEqual([400, "invalid_query"]);
    },
  );

  test("have a tag that changes only with them", async () => {
    const user = await service.makeApp(schema);
    await create(user, [{ status: "open", hours: 1 }]);
    const ask = (tag = '"none"') =>
      service.call(user, `${TASKS}/groups?by=status`, { headers: { "if-none-match": tag } });
    const first = await ask();
    const tag = first.headers.get("etag") ?? "";
    expect((await ask(tag)).status).toBe(304);
    await create(user, [{ status: "done" }]);
    const second = await ask(tag);
    expect([second.status, second.headers.get("etag")]).not.toEqual([304, tag]);
  });

  test("are made of one state of the table", async () => {
    const user = await service.makeApp(schema);
    const half = (status: string) => Array.from({ length: 3 }, () => ({ status }));
    const writes = Array.from({ length: 10 }, () =>
      create(user, [...half("open"), ...half("done")]),
    );
    const found: (readonly Group[])[] = [];
    for (let count = 0; count < 20; count++) found.push(await group("by=status", user));
    await Promise.all(writes);
    found.push(await group("by=status", user));
    for (const groups of found)
      expect(new Set(groups.map(({ count }) => count)).size).toBeLessThan(2);
    expect(found.at(-1)?.map(({ count }) => count)).toEqual([30, 30]);
  });
});

describe("more than the limit", () => {
  let large: TestService;
  beforeAll(async () => {
    large = await openTestService({ service: { previews: ["filters"] } });
  });
  afterAll(() => large.close());

  async function fill(rows: readonly object[]): Promise<TestApp> {
    const user = await large.makeApp(schema);
    await create(user, rows, large);
    return user;
  }

  test("of groups is an error", async () => {
    const user = await fill(Array.from({ length: MAX_GROUPS + 1 }, (_, hours) => ({ hours })));
    const { status, text } = await large.call(user, `${TASKS}/groups?by=hours`);
    expect([status, codeOf(text)]).toEqual([400, "too_many_groups"]);
    expectSentences(JSON.parse(text).message, { names: ["hours"] });
    const { json } = await large.call(user, `${TASKS}/groups?by=hours&hours=lt.${MAX_GROUPS}`);
    expect((json as { groups: Group[] }).groups).toHaveLength(MAX_GROUPS);
  });

  test("of the bytes of a key is an error, unless a condition excludes the row", async () => {
    const [fits, exceeds] = [
      "x".repeat(MAX_GROUP_KEY_BYTES),
      "é".repeat(MAX_GROUP_KEY_BYTES / 2 + 1),
    ];
    const user = await fill([{ title: fits }, { title: exceeds, done: true }]);
    const { status, text } = await large.call(user, `${TASKS}/groups?by=title`);
    expect([status, codeOf(text)]).toEqual([400, "unsupported_query"]);
    expectSentences(JSON.parse(text).message, { names: ["title"] });
    const { json } = await large.call(user, `${TASKS}/groups?by=title&done=is.null`);
    expect((json as { groups: Group[] }).groups).toEqual([{ by: { title: fits }, count: 1 }]);
  });
});

testUnlessCitus("a cluster has no query functions")(
  "without the preview, the path is that of a row with an invalid id",
  async () => {
    await using plain = await openTestService({ service: { previews: [] } });
    const user = await plain.makeApp(schema);
    for (const query of ["", "?by=status"]) {
      for (const method of ["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"]) {
        const [groups, row] = await Promise.all(
          ["groups", "nothing"].map(async (id) => {
            const json = /P.T/.test(method) ? { json: {} } : {};
            const path = `${TASKS}/${id}${query}`;
            const { status, headers, text } = await plain.call(user, path, { method, ...json });
            const body = text.replaceAll(/"requestId":"[^"]+"/g, "");
            return { status, body, allow: headers.get("allow") };
          }),
        );
        expect({ method, ...groups }).toEqual({ method, ...row } as never);
      }
    }
  },
);
