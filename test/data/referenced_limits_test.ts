/** Conditions on many referenced rows, and on too many. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { MAX_FOUND_IDS } from "../../src/std/limits.ts";
import { eventually } from "../support/eventually.ts";
import { postSchema } from "../support/push.ts";
import { expectSentences } from "../support/sentences.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const PROJECTS = 160;
const projectTable = () =>
  t
    .model({
      name: t.string().required(),
      size: t.integer().required(),
      part: t.integer().required(),
      half: t.boolean().required(),
      price: t.decimal(),
      meta: t.json(),
    })
    .index("size");
const others = {
  items: t
    .model({
      project: t.ref("projects").required(),
      n: t.integer().required(),
      title: t.string().required(),
    })
    .index("n"),
  // Names of other limits.
  links: { key: t.ref("projects"), rows: t.ref("projects"), bytes: t.ref("projects") },
};
const schema = defineSchema({ projects: projectTable(), ...others });

const projects: string[] = [];
const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(schema);
const rows = await create(
  "projects",
  Array.from({ length: PROJECTS }, (_, n) => ({
    ...{ name: `P${n}`, size: n, half: n % 2 === 0 },
    part: n % 40,
    price: `${n % 9}.50`,
  })),
);
projects.push(...rows.map(({ id }) => id));
// Projects 0 to 99 have an item, 100 has 200 more.
await create(
  "items",
  Array.from({ length: 300 }, (_, n) => ({
    ...{ project: projects[Math.min(n, 100)], n, title: `Item ${n}` },
  })),
);

async function create(table: string, json: object[]): Promise<{ id: string }[]> {
  const {
    status,
    text,
    json: found,
  } = await service.call(app, `/v1/data/db/${table}`, { method: "POST", json });
  expect([status, text.slice(0, 200)]).toEqual([201, expect.any(String)]);
  return (found as { rows: { id: string }[] }).rows;
}

/** The numbers of all rows of a list, page by page. */
async function listAll(query: string, limit = 20): Promise<number[]> {
  const numbers: number[] = [];
  let after = "";
  for (let page = 0; page < 60; page++) {
    const { status, text, json } = await service.call(
      app,
      `/v1/data/db/items?${query}&limit=${limit}${after}`,
    );
    expect([status, text]).toEqual([200, expect.any(String)]);
    const { rows, next } = json as { rows: { n: number }[]; next: string | null };
    numbers.push(...rows.map(({ n }) => n));
    if (next === null) return numbers;
    after = `&after=${next}`;
  }
  throw new Error("The list has no end");
}

const upTo = (end: number, start = 0) => Array.from({ length: end - start }, (_, n) => start + n);

test.each([
  // By the index of the reference.
  ["project.size=lt.50&order=n", upTo(50)],
  ["project.size=lt.50&order=n.desc", upTo(50).reverse()],
  ["project.size=lt.50&order=title", upTo(50).toSorted((a, b) => (`${a}` < `${b}` ? -1 : 1))],
  ["project.size=lt.100", upTo(100)],
  ["project.size=lt.50&n=gte.20", upTo(50, 20)],
  // With more ids than are searched each, by another index.
  ["project.size=lt.120&order=n", upTo(300)],
  ["project.size=lt.120&order=n.desc", upTo(300).reverse()],
  ["project.size=lt.120", upTo(300)],
  ["project.size=gte.100&project.size=lt.110&order=n", upTo(300, 100)],
  ["project.size=eq.100&order=n.desc", upTo(300, 100).reverse()],
  ["project.size=eq.155", []],
])("all pages of %s", async (query, numbers) => {
  expect(await listAll(query)).toEqual(numbers.slice());
  expect(await listAll(query, 7)).toEqual(numbers.slice());
});

test("without a referenced row, a page is complete", async () => {
  for (const query of ["project.size=eq.999", "project.size=eq.999&order=n.desc"]) {
    const { json } = await service.call(app, `/v1/data/db/items?${query}&limit=20`);
    expect(json).toMatchObject({ rows: [], hasMore: false, next: null });
  }
});

test("counts and groups have all rows", async () => {
  for (const [query, count] of [
    ["project.size=lt.50", 50],
    ["project.size=lt.120", 300],
    ["project.size=eq.100", 200],
  ] as const) {
    const { json } = await service.call(app, `/v1/data/db/items/groups?${query}&max=n`);
    expect(json).toMatchObject({ groups: [{ count }] });
    const listed = await service.call(app, `/v1/data/db/items?${query}&limit=1&order=n`, {
      headers: { prefer: "count=exact" },
    });
    expect(listed.json).toMatchObject({ count });
  }
});

test("an index finds the same referenced rows as PostgreSQL does without it", async () => {
  const isNine = (n: number) => /^1.*9$/.test(`${n}`);
  const expected = [
    ["project.price=eq.7.5&project.half=eq.true", upTo(100).filter((n) => n % 18 === 16)],
    ["project.price=gte.7.500", upTo(100).filter((n) => n % 9 >= 7)],
    ["project.name=like.P1*9", upTo(100).filter(isNine)],
    ["project.name=ilike.p*7", upTo(100).filter((n) => n % 10 === 7)],
  ] as const;
  const find = async () => {
    for (const [query, numbers] of expected)
      expect([query, await listAll(`${query}&order=n`)]).toEqual([query, numbers]);
  };
  await find();
  const indexed = projectTable().index("half", "price").index("price").index("name");
  const next = defineSchema({ projects: indexed, ...others });
  expect(await postSchema(service, app, next)).toMatchObject({ status: 200 });
  await eventually(async () => {
    const { json } = await service.call(app, "/v1/data/schema");
    const { deferredSteps } = json as { deferredSteps: { state: string }[] };
    return deferredSteps.every(({ state }) => state === "done");
  });
  await find();
});

test("too many referenced rows: a message names what finds them", async () => {
  await service.query(
    `insert into data.projects (app_id, id, name, size, part, half)
    select $1::uuid, gen_random_uuid(), 'many', 1000000, case when n > 0 then 1000 else 1001 end, true
    from generate_series(0, $2::int4) n`,
    [app.id, MAX_FOUND_IDS],
  );
  const call = async (path: string, method = "GET", headers = {}) => {
    const json = method === "GET" ? {} : { json: { n: 1 } };
    const answer = await service.call(app, `/v1/data/db/${path}`, { method, headers, ...json });
    const { error, message } = answer.json as { error?: string; message?: string };
    return `${method} ${path}\n  ${answer.status} ${error}: ${message}`;
  };
  const few = ["items?project.part=eq.1000", "items/groups?project.part=eq.1000"];
  for (const path of few) expect(await call(path)).toContain("200");
  const found: string[] = [];
  for (const path of [
    "items?project.part=gte.1000",
    "items?or=(n.lt.3,project.part.gte.1000)&order=n",
    "items/groups?project.part=gte.1000",
  ])
    found.push(await call(path));
  found.push(await call("items?project.part=gte.1000", "PATCH"));
  expectSentences(found.join("\n"), {});
  for (const [path, method] of [
    ["links/groups?key.part=gte.1000"],
    ["links/groups?bytes.part=gte.1000"],
    ["links?rows.part=gte.1000&limit=1", "DELETE"],
  ] as const)
    expect(await call(path, method)).toContain("400 needs_index");
});
