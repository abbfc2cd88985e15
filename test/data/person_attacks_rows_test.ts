/** Attacks of people on rows that the rules of the app do not give them: by id, by list, by write, by batch. */
import { describe, expect, test } from "bun:test";
import {
  detailsOf,
  isSame,
  MISSING,
  openPersonWorld,
  path,
  rowOf,
  rowsOf,
} from "../support/person_app.ts";
import { share } from "../support/share.ts";

const T = path("todos");
const world = await share(openPersonWorld());
const { ada, bob, wiki, post, patch } = world;
const bobs = rowOf(
  await post(bob, "todos", { title: "Bob's secret", code: "X-1", note: { s: 1 } }),
);
const adas = rowOf(await post(ada, "todos", { title: "Ada's" }));
await patch(wiki, `${T}/${adas.id}`, { cost: "99.5" });
await patch(wiki, `${T}/${bobs.id}`, { cost: "12.5" });

describe("rows of others", () => {
  test("are missing rows, byte for byte: get, HEAD, change, delete, with any tag", async () => {
    const { ada, bob, send, patch, remove } = world;
    const tag = (await send(bob, `${T}/${bobs.id}`)).headers.get("etag") ?? "";
    const attempts = [
      (id: string) => send(ada, `${T}/${id}`),
      (id: string) => send(ada, `${T}/${id}`, { headers: { "if-none-match": tag } }),
      (id: string) => patch(ada, `${T}/${id}`, { title: "mine" }),
      (id: string) => patch(ada, `${T}/${id}`, {}),
      (id: string) => patch(ada, `${T}/${id}`, { title: "mine" }, { "if-match": tag }),
      (id: string) => patch(ada, `${T}/${id}`, { status: "done" }, { "if-match": '"0000"' }),
      (id: string) => remove(ada, `${T}/${id}`),
      (id: string) => remove(ada, `${T}/${id}`, { "if-match": tag }),
    ];
    for (const attempt of attempts) {
      const [foreign, missing] = [await attempt(bobs.id), await attempt(MISSING)];
      expect(foreign.status).toBe(404);
      expect(isSame(foreign, missing)).toBe(true);
    }
    expect((await send(ada, `${T}/${bobs.id}`, { method: "HEAD" })).status).toBe(404);
    expect(rowOf(await send(bob, `${T}/${bobs.id}`))["title"]).toBe("Bob's secret");
  });

  test("are on no list and in no batch of changes", async () => {
    const { ada, wiki, send, patch } = world;
    expect(rowsOf(await send(ada, T)).map(({ id }) => id)).toEqual([adas.id]);
    const list = (id: string) =>
      patch(ada, T, [
        { id: adas.id, title: "first" },
        { id, title: "second" },
      ]);
    const [foreign, missing] = [await list(bobs.id), await list(MISSING)];
    expect(foreign.status).toBe(404);
    expect(isSame(foreign, missing)).toBe(true);
    expect(rowOf(await send(wiki, `${T}/${adas.id}`))["title"]).toBe("Ada's");
  });
});

describe("the owner", () => {
  const forge = (json: object) => world.post(world.ada, "todos", { title: "x", ...json });
  test("cannot be another person, null, sent twice or sent in another case", async () => {
    const { ada, bob, send } = world;
    const forged = await forge({ owner: bob.id });
    expect({ status: forged.status, paths: detailsOf(forged) }).toEqual({
      status: 403,
      paths: ["/owner"],
    });
    expect((await forge({ owner: null })).status).toBeOneOf([403, 422]);
    const twice = await send(ada, T, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `{"title":"x","owner":"${ada.id}","owner":"${bob.id}"}`,
    });
    expect(twice.status).toBe(403);
    const cased = await forge({ Owner: bob.id });
    expect({ status: cased.status, owner: rowOf(cased)["owner"] }).toEqual({
      status: 201,
      owner: ada.id,
    });
    expect((await forge({ owner: ada.id.toUpperCase() })).status).toBe(201);
  });

  test("cannot be changed, by update, list, upsert or conditions", async () => {
    const { ada, bob, post, patch, send } = world;
    for (const found of [
      await patch(ada, `${T}/${adas.id}`, { owner: bob.id }),
      await patch(ada, T, [{ id: adas.id, owner: bob.id }]),
      await patch(ada, `${T}?title=like.*`, { owner: bob.id }),
      await post(ada, "todos?onConflict=owner,code", { title: "x", code: "c", owner: bob.id }),
      await post(ada, "todos?onConflict=owner,code&existing=only", { code: "c", owner: bob.id }),
    ])
      expect({ status: found.status, text: found.text }).toMatchObject({ status: 403 });
    expect(rowOf(await send(ada, `${T}/${adas.id}`))["owner"]).toBe(ada.id);
  });
});

describe("columns", () => {
  test("that the role does not set name the column", async () => {
    const { ada, post, patch } = world;
    for (const [column, value] of [
      ["approved_by", "me"],
      ["cost", "1"],
    ] as const) {
      const found = [
        await patch(ada, `${T}/${adas.id}`, { [column]: value }),
        await post(ada, "todos", { title: "x", [column]: value }),
        await patch(ada, `${T}/${adas.id}`, { [column]: null }),
      ];
      for (const each of found) {
        expect(each.status).toBe(403);
        expect(detailsOf(each)).toEqual([`/${column}`]);
      }
      // A rejection before the row is read is the same for a row that the person does not see.
      expect(
        isSame(
          await patch(ada, `${T}/${bobs.id}`, { [column]: value }),
          await patch(ada, `${T}/${MISSING}`, { [column]: value }),
        ),
      ).toBe(true);
    }
  });

  test.each([
    { name: "a value", json: { title: "x", status: "done" }, paths: ["/status"] },
    {
      name: "all that the role does not set, and a value",
      json: { title: "x", status: "done", cost: "1", approved_by: "me" },
      paths: ["/approved_by", "/cost", "/status"],
    },
    {
      name: "of each row of a list",
      json: [{ title: "x" }, { title: "x", status: "done" }, { title: "x", cost: "1" }],
      paths: ["/1/status", "/2/cost"],
    },
  ])("that a rule denies are all in the details of a create: $name", async ({ json, paths }) => {
    const found = await world.post(world.ada, "todos", json);
    expect({ status: found.status, paths: detailsOf(found).sort() }).toEqual({
      status: 403,
      paths: [...paths],
    });
  });

  test("that a rule denies are all in the details of a change", async () => {
    const { ada, patch, post } = world;
    const denied = { status: "approved", cost: "1" };
    const title = "x";
    for (const [found, at] of [
      [await patch(ada, `${T}/${adas.id}`, { title, ...denied }), ""],
      [await patch(ada, T, [{ id: adas.id, ...denied }]), "/0"],
      [await patch(ada, `${T}?title=eq.Ada's`, denied), ""],
      [await post(ada, "todos?onConflict=owner,code", { title, code: "c", ...denied }), ""],
    ] as const)
      expect({ status: found.status, paths: detailsOf(found).sort() }).toEqual({
        status: 403,
        paths: [`${at}/cost`, `${at}/status`],
      });
    // A stored value is no field of the request.
    const approved = rowOf(
      await post(world.wiki, "todos", { title, owner: ada.id, status: "approved" }),
    );
    const change = await patch(ada, `${T}/${approved.id}`, { title: "y" });
    expect({ status: change.status, paths: detailsOf(change) }).toEqual({ status: 403, paths: [] });
  });

  test("that the role does not see are in no response", async () => {
    const { ada, send, patch, post } = world;
    const found = [
      await send(ada, `${T}/${adas.id}`),
      await send(ada, T),
      await patch(ada, `${T}/${adas.id}`, { title: "Ada's todo" }),
      await patch(ada, `${T}/${adas.id}`, {}),
      await patch(ada, T, [{ id: adas.id, title: "Ada's" }]),
      await send(ada, `${T}?order=noted_at`),
      await send(ada, `${T}?title=eq.${encodeURIComponent("Ada's")}`),
      await send(ada, `${T}?select=id,title`),
      await post(ada, "todos", [{ title: "one" }, { title: "two" }]),
      await post(ada, "todos?onConflict=owner,code", { title: "up", code: "up" }),
    ];
    for (const { status, text } of found) {
      expect(status).toBeOneOf([200, 201]);
      expect(text).not.toMatch(/cost|99\.5/);
    }
  });

  test("that the role does not see are never suggested", async () => {
    const { ada, lena, post } = world;
    const strict = { prefer: "handling=strict" };
    const near = { title: "x", costt: "1" };
    const [hidden, shown] = [
      await post(ada, "todos", near, strict),
      await post(lena, "todos", near, strict),
    ];
    expect([hidden.status, shown.status]).toEqual([422, 422]);
    expect(shown.text).toContain('cost\\"');
    expect(hidden.text).not.toMatch(/cost\b/);
  });

  test("that the role sees and sets are open to it", async () => {
    const { lena, send, patch } = world;
    expect(rowOf(await send(lena, `${T}/${adas.id}`))["cost"]).toBe("99.5");
    expect((await patch(lena, `${T}/${adas.id}`, { approved_by: "Lena" })).status).toBe(200);
  });
});

describe("states", () => {
  test("that the rule does not allow are rejected before and after a change", async () => {
    const { ada, wiki, post, patch, remove, send } = world;
    expect((await post(ada, "todos", { title: "x", status: "approved" })).status).toBe(403);
    expect((await patch(ada, `${T}/${adas.id}`, { status: "approved" })).status).toBe(403);
    expect(rowOf(await send(wiki, `${T}/${adas.id}`))["status"]).toBe("open");
    await patch(wiki, `${T}/${adas.id}`, { status: "approved" });
    const tag = (await send(ada, `${T}/${adas.id}`)).headers.get("etag") ?? "";
    for (const headers of [{}, { "if-match": tag }, { "if-match": '"wrong"' }])
      for (const found of [
        await patch(ada, `${T}/${adas.id}`, { title: "late" }, headers),
        await patch(ada, `${T}/${adas.id}`, { status: "open" }, headers),
        await remove(ada, `${T}/${adas.id}`, headers),
      ])
        expect(found.status).toBe(403);
    await patch(wiki, `${T}/${adas.id}`, { status: "open" });
    expect((await patch(ada, `${T}/${adas.id}`, { status: "done" })).status).toBe(200);
    expect((await remove(ada, `${T}/${adas.id}`)).status).toBe(403);
    await patch(wiki, `${T}/${adas.id}`, { status: "open" });
  });

  test("writes with conditions leave rows that the person may not write", async () => {
    const { ada, wiki, post, patch, remove, send } = world;
    const [open, approved] = rowsOf(
      await post(ada, "todos", [
        { title: "bulk 1", code: "b1" },
        { title: "bulk 2", code: "b2" },
      ]),
    );
    await patch(wiki, `${T}/${approved?.id}`, { status: "approved" });
    const where = "code=in.(b1,b2)";
    expect((await patch(ada, `${T}?${where}`, { title: "bulk 1" })).json).toEqual({ count: 1 });
    for (const found of [
      await patch(ada, `${T}?${where}`, { status: "approved" }),
      await patch(ada, `${T}?${where}`, { cost: "1" }),
      await patch(ada, T, [
        { id: open?.id, title: "a" },
        { id: approved?.id, title: "b" },
      ]),
    ])
      expect({ status: found.status, text: found.text }).toMatchObject({ status: 403 });
    const left = rowsOf(await send(wiki, `${T}?code=in.(b1,b2)&order=code`));
    expect(left.map(({ title }) => title)).toEqual(["bulk 1", "bulk 2"]);
    const all = await patch(ada, `${T}?all=true&dryRun=true`, { title: "x" });
    const writable = rowsOf(
      await send(wiki, `${T}?owner=eq.${ada.id}&status=in.(open,done)`),
    ).length;
    expect(all.json).toMatchObject({ count: writable });
    expect((await remove(ada, `${T}?${where}`)).json).toEqual({ count: 1 });
    expect((await send(wiki, `${T}/${approved?.id}`)).status).toBe(200);
    expect(
      (await remove(ada, `${T}?title=${encodeURIComponent("like.*secret*")}`)).json,
    ).toMatchObject({ count: 0 });
    expect((await patch(ada, `${T}?code=eq.X-1`, { title: "hacked" })).json).toMatchObject({
      count: 0,
    });
    await remove(wiki, `${T}?${where}`);
  });
});

describe("roles", () => {
  test("without a rule get 403, not an empty list", async () => {
    const { carl, vera, ada, send, post, patch, remove } = world;
    for (const found of [
      await send(carl, T),
      await send(carl, `${T}/${adas.id}`),
      await send(carl, `${T}?order=title`),
      await send(carl, `${T}/groups?by=status`),
      await patch(carl, `${T}/${adas.id}`, { title: "x" }),
      await remove(carl, `${T}/${adas.id}`),
      await patch(carl, `${T}?title=like.*`, { title: "x" }),
      await remove(carl, `${T}?title=like.*`),
      await post(carl, "todos?onConflict=owner,code", { title: "x", code: "y" }),
      await post(vera, "todos", { title: "x" }),
      await patch(vera, `${T}/${adas.id}`, { title: "x" }),
      await send(vera, path("projects")),
      await send(ada, path("ledgers")),
      await post(ada, "ledgers", { amount: "1" }),
      await remove(ada, path("ledgers", `/${MISSING}`)),
    ])
      expect(found).toMatchObject({ status: 403, json: { error: "forbidden" } });
  });

  test("that only create get only the id, and learn which values are invalid", async () => {
    const { carl, wiki, post, send } = world;
    const blind = await post(carl, "todos", { title: "by the clerk" });
    expect(blind.status).toBe(201);
    expect(Object.keys(rowOf(blind))).toEqual(["id", "app_id"]);
    expect(rowOf(await send(wiki, `${T}/${rowOf(blind).id}`))["owner"]).toBe(carl.id);
    const many = await post(carl, "todos", [{ title: "a" }, { title: "b" }]);
    expect(rowsOf(many).map((row) => Object.keys(row).join())).toEqual(["id,app_id", "id,app_id"]);
    expect((await post(carl, "todos", { title: 7 })).status).toBe(422);
  });

  test("of the Console are admin", async () => {
    const { grace, send } = world;
    expect(rowsOf(await send(grace, T)).length).toBeGreaterThan(1);
  });
});

describe("batches", () => {
  test("with one wrong row write nothing, and name the row: an import of 1,000 rows", async () => {
    const { ada, bob, wiki, post, send } = world;
    const rows = Array.from({ length: 1000 }, (_, n) => ({ title: `import ${n}` }));
    for (const [at, wrong] of [
      [1, { owner: bob.id }],
      [997, { status: "approved" }],
      [500, { cost: "1" }],
    ] as const) {
      const sent = rows.map((row, n) => (n === at ? { ...row, ...wrong } : row));
      const found = await post(ada, "todos", sent);
      expect(found.status).toBe(403);
      for (const each of detailsOf(found)) expect(each.split("/")[1]).toBe(`${at}`);
    }
    expect(rowsOf(await send(wiki, `${T}?title=like.import*`))).toEqual([]);
    const done = await post(ada, "todos", rows);
    expect(done.status).toBe(201);
    expect(new Set(rowsOf(done).map(({ owner }) => owner))).toEqual(new Set([ada.id]));
    await world.remove(wiki, `${T}?title=like.import*`);
  });

  test("of several people at once keep their owners and their errors", async () => {
    const { ada, bob, lena, post } = world;
    const people = [ada, bob, lena];
    const found = await Promise.all(
      Array.from({ length: 60 }, (_, n) => {
        const more = n % 10 === 9 ? { status: "approved" } : n % 10 === 8 ? { owner: bob.id } : {};
        return post(people[n % 3] ?? ada, "todos", { title: `g${n}`, ...more });
      }),
    );
    for (const [n, response] of found.entries()) {
      const who = people[n % 3] ?? ada;
      const isWrong = (n % 10 === 9 && who !== lena) || (n % 10 === 8 && who !== bob);
      expect(response.status).toBe(isWrong ? 403 : 201);
      if (!isWrong) expect(response.json).toMatchObject({ owner: who.id, title: `g${n}` });
    }
  });
});
