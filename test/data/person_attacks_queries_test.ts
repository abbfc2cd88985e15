/** Attacks of people with queries: hidden columns, rows of others, forged cursors, counts, groups, related rows, limits. */
import { beforeAll, describe, expect, test } from "bun:test";
import { MISSING, openPersonWorld, path, type Row, rowOf, rowsOf } from "../support/person_app.ts";
import type { TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";

const T = path("todos");
const world = await share(openPersonWorld());
const { ada, bob, wiki, post, patch } = world;
const bobs = rowOf(await post(bob, "todos", { title: "Bob's secret", code: "X-1" }));
const adas = rowOf(await post(ada, "todos", { title: "Ada's" }));
await post(ada, "todos", [{ title: "b" }, { title: "c", code: "c" }]);
await post(bob, "todos", [{ title: "by" }, { title: "cy" }]);
await patch(wiki, `${T}/${adas.id}`, { cost: "99.5" });
await patch(wiki, `${T}/${bobs.id}`, { cost: "12.5" });

const ask = (query: string, headers = {}) => world.send(world.ada, `${T}?${query}`, { headers });
const cursor = (order: string, ...values: string[]) =>
  Buffer.from(JSON.stringify([order, ...values])).toString("base64url");
const isOwn = (found: TestResponse) =>
  found.status === 200 && rowsOf(found).every(({ owner }) => owner === world.ada.id);

test.each([
  "cost=gt.1",
  "cost=is.null",
  "not.and=(cost.is.null,id.is.null)",
  "order=cost",
  "order=cost.desc,title",
  "select=id,cost",
  "and=(cost.gt.1,title.eq.x)",
  "or=(title.eq.x,not.and(cost.lt.5,cost.gt.1))",
  `after=${cursor("cost.asc,id.asc", "1", MISSING)}&order=cost`,
])("a hidden column is an unknown one: %s", async (query) => {
  const [hidden, unknown] = [await ask(query), await ask(query.replaceAll("cost", "zost"))];
  expect(hidden.status).toBe(400);
  const clean = ({ text }: TestResponse) =>
    text.replace(/"requestId":"[^"]+"/, "").replaceAll("cost", "zost");
  if (!query.startsWith("after")) expect(clean(hidden)).toBe(clean(unknown));
  expect(unknown.text).not.toContain("cost");
});

test.each(["by=cost", "sum=cost", "avg=cost", "min=cost", "max=cost", "by=status&cost=gt.1"])(
  "groups do not have a hidden column: %s",
  async (query) => {
    expect((await world.send(world.ada, `${T}/groups?${query}`)).status).toBe(400);
    expect((await world.send(world.lena, `${T}/groups?${query}`)).status).toBe(200);
  },
);

test("no condition, order, offset or cursor finds rows of others", async () => {
  const { ada, bob, wiki, send } = world;
  for (const query of [
    `owner=eq.${bob.id}`,
    `owner=not.eq.${ada.id}`,
    "title=ilike.*secret*",
    `id=in.(${bobs.id},${adas.id})`,
    `id=eq.${bobs.id}`,
    `id=gte.${MISSING.replaceAll(/[1-9a-f]/g, "0")}`,
    "or=(title.like.*,title.is.null)",
    "order=title.desc",
    "code=eq.X-1",
    "not.and=(title.eq.x,status.eq.done)",
    "order=noted_at.desc&limit=1000",
    `after=${cursor("id.asc", bobs.id)}`,
    `after=${cursor("title.desc,id.desc", "zzz", bobs.id)}&order=title.desc`,
  ]) {
    const found = await ask(query);
    expect({ query, isOwn: isOwn(found), text: found.text }).toMatchObject({ isOwn: true });
  }
  const own = rowsOf(await send(wiki, `${T}?owner=eq.${ada.id}`)).length;
  let seen = 0;
  for (let offset = 0; offset < own + 3; offset++) {
    const page = await send(ada, `${T}?limit=1&offset=${offset}`);
    seen += rowsOf(page).length;
    expect((page.json as { hasMore: boolean }).hasMore).toBe(offset + 1 < own);
  }
  expect(seen).toBe(own);
});

test("no cursor has a value of a row of others", async () => {
  let decoded = "";
  for (const order of ["title.desc", "title", "noted_at.desc", "id.desc", "status,title.desc"])
    for (let next: string | null = ""; next !== null; ) {
      const page = await ask(`order=${order}&limit=1${next === "" ? "" : `&after=${next}`}`);
      expect(isOwn(page)).toBe(true);
      next = (page.json as { next: string | null }).next;
      decoded += Buffer.from(next ?? "", "base64url").toString();
    }
  // The ids of one's own rows have random digits, and none of these texts.
  for (const text of ["secret", bobs.id, "by", "cy"]) expect(decoded).not.toContain(text);
});

test("counts and estimates are of the person's rows", async () => {
  const { ada, wiki, send } = world;
  const own = rowsOf(await send(wiki, `${T}?owner=eq.${ada.id}`)).length;
  for (const kind of ["exact", "estimated", "bounded"])
    for (const query of ["", "order=title", "title=like.*"]) {
      const { json, status } = await ask(query, { prefer: `count=${kind}` });
      if (kind !== "bounded") expect(status).toBe(200);
      const { count } = json as { count?: number | null };
      expect(count ?? own).toBe(own);
    }
  const grouped = await send(ada, `${T}/groups?by=owner`);
  expect((grouped.json as { groups: object[] }).groups).toEqual([
    { by: { owner: ada.id }, count: own },
  ]);
  const foreign = await send(ada, `${T}/groups?owner=eq.${world.bob.id}`);
  expect(foreign.json).toMatchObject({ groups: [{ count: 0 }] });
});

describe("related rows", () => {
  let project: Row;
  beforeAll(async () => {
    const { bob, wiki, post, patch } = world;
    project = rowOf(await post(bob, "projects", { name: "Bob's project" }));
    await patch(wiki, path("projects", `/${project.id}`), { secret_note: "hush" });
    // The app's own server can make a row of Ada's reference it.
    await patch(wiki, `${T}/${adas.id}`, { project: project.id });
    await post(bob, "comments", { todo: bobs.id, text: "private" });
    await post(world.ada, "comments", { todo: adas.id, text: "own" });
  });

  test("of others are null, or on no list", async () => {
    const { ada, bob, send } = world;
    const found = await send(ada, `${T}?select=id,project(id,name)&id=eq.${adas.id}`);
    expect(found.status).toBe(200);
    expect(rowsOf(found)).toEqual([{ id: adas.id, project: null }]);
    const own = await send(bob, path("projects", "?select=id,name,todos(id,title)"));
    expect(rowsOf(own)).toEqual([
      { id: project.id, name: "Bob's project", todos: { rows: [], hasMore: false } },
    ] as never);
    const comments = rowsOf(await send(ada, path("comments", "?select=text,todo(title)")));
    expect(comments).toEqual([{ text: "own", todo: { title: "Ada's" } }] as never);
  });

  test("have no hidden column, and no table without a rule", async () => {
    const { ada, bob, send } = world;
    for (const [by, at] of [
      [bob, `${T}?select=id,project(secret_note)`],
      [bob, path("projects", "?select=id,todos(id,cost)")],
      [bob, path("projects", "?select=id,todos(id)&todos.order=cost")],
      [ada, path("comments", "?select=id,todo(id,cost)")],
      [ada, path("comments", "?todo.cost=gt.1")],
      [ada, path("comments", "?select=id,todo(id,project(secret_note))")],
      [ada, `${T}?select=id,ledgers(amount)`],
    ] as const) {
      const { status, text } = await send(by, at);
      expect({ at, text, isRejected: [400, 403].includes(status) }).toMatchObject({
        isRejected: true,
      });
    }
  });

  test("do not decide conditions, orders or groups unless the person sees them", async () => {
    const { ada, send, patch, remove } = world;
    for (const query of [
      "project.name=like.Bob*",
      "project.owner=not.is.null",
      "not.or=(project.name.eq.x,id.is.null)",
      "or=(project.name.like.Bob*,project.name.like.A*)",
    ]) {
      const found = await send(ada, `${T}?${query}&id=eq.${adas.id}`);
      const shown = found.status === 200 ? rowsOf(found) : [];
      // "not" of an unknown comparison is unknown too.
      expect({ query, status: found.status, shown }).toMatchObject({ status: 200, shown: [] });
    }
    expect((await send(ada, `${T}/groups?project.name=like.Bob*`)).json).toMatchObject({
      groups: [{ count: 0 }],
    });
    expect(
      (await patch(ada, `${T}?project.name=like.Bob*`, { title: "found" })).json,
    ).toMatchObject({ count: 0 });
    expect((await remove(ada, `${T}?project.name=like.Bob*`)).json).toMatchObject({ count: 0 });
  });
});
