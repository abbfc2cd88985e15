/** Attacks of people through references, memberships, caches, tags, repeats, upserts and races. */
import { describe, expect, test } from "bun:test";
import { grantRole } from "../../src/records/people/mod.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileDone } from "../support/held_lock.ts";
import {
  detailsOf,
  enter,
  isSame,
  MISSING,
  openPersonWorld,
  path,
  renewKey,
  rowOf,
  rowsOf,
} from "../support/person_app.ts";
import { share } from "../support/share.ts";

const T = path("todos");
const C = path("comments");
const world = await share(openPersonWorld());
const { ada, bob, post } = world;
const bobs = rowOf(await post(bob, "todos", { title: "Bob's secret", code: "X-1", tag: "taken" }));
const adas = rowOf(await post(ada, "todos", { title: "Ada's" }));

describe("a reference to a row that the person does not see", () => {
  test("is one to a missing row: create, change, batch, group, upsert, conditions", async () => {
    const { ada, bob, post, patch } = world;
    const project = rowOf(await post(bob, "projects", { name: "Bob's project" }));
    const attempts = [
      (id: string) => post(ada, "todos", { title: "x", project: id }),
      (id: string) => patch(ada, `${T}/${adas.id}`, { project: id }),
      (id: string) => post(ada, "todos", [{ title: "1" }, { title: "2", project: id }]),
      (id: string) => patch(ada, T, [{ id: adas.id, project: id }]),
      (id: string) => patch(ada, `${T}?id=eq.${adas.id}`, { project: id }),
      (id: string) =>
        post(ada, "todos?onConflict=owner,code", { title: "x", code: "r", project: id }),
    ];
    for (const [n, attempt] of attempts.entries()) {
      const [foreign, missing] = [await attempt(project.id), await attempt(MISSING)];
      expect({ n, status: foreign.status, text: foreign.text }).toMatchObject({ status: 422 });
      expect({
        n,
        isSame: isSame(foreign, missing),
        texts: [foreign.text, missing.text],
      }).toMatchObject({ isSame: true });
    }
    const batch = await post(ada, "todos", [{ title: "1" }, { title: "2", project: project.id }]);
    expect(detailsOf(batch)).toEqual(["/1/project"]);
    const own = rowOf(await post(ada, "projects", { name: "Ada's project" }));
    expect((await post(ada, "todos", { title: "with project", project: own.id })).status).toBe(201);
  });

  test("children of such rows are neither created nor read", async () => {
    const { ada, bob, post, send } = world;
    const say = (todo: string) => post(ada, "comments", { todo, text: "hi" });
    expect(isSame(await say(bobs.id), await say(MISSING))).toBe(true);
    expect((await say(bobs.id)).status).toBeOneOf([403, 422]);
    const hidden = rowOf(await post(bob, "comments", { todo: bobs.id, text: "private" }));
    expect(rowsOf(await send(ada, C))).toEqual([]);
    expect((await send(ada, `${C}/${hidden.id}`)).status).toBe(404);
    // A row of the own cannot move to a row of others.
    const own = rowOf(await post(ada, "comments", { todo: adas.id, text: "own" }));
    const move = (todo: string) => world.patch(ada, `${C}/${own.id}`, { todo });
    expect(isSame(await move(bobs.id), await move(MISSING))).toBe(true);
    expect((await move(bobs.id)).status).toBe(422);
  });
});

describe("memberships", () => {
  test("cannot be written by members, and decide at once", async () => {
    const { ada, grace, wiki, post, patch, remove, send } = world;
    const team = rowOf(await post(grace, "teams", { name: "Red" }));
    expect((await post(ada, "team_members", { person: ada.id, team: team.id })).status).toBe(403);
    const membership = rowOf(await post(grace, "team_members", { person: ada.id, team: team.id }));
    await patch(wiki, `${T}/${bobs.id}`, { team: team.id });
    const seen = await send(ada, `${T}/${bobs.id}`);
    expect(seen.status).toBe(200);
    expect(rowsOf(await send(ada, T)).some(({ id }) => id === bobs.id)).toBe(true);
    const tag = seen.headers.get("etag") ?? "";
    for (const found of [
      await patch(ada, `${T}/${bobs.id}`, { title: "mine" }),
      await patch(ada, `${T}/${bobs.id}`, { title: "mine" }, { "if-match": tag }),
      await remove(ada, `${T}/${bobs.id}`),
    ])
      expect(found.status).toBe(403);
    for (const found of [
      await patch(ada, `${T}?id=eq.${bobs.id}`, { title: "mine" }),
      await remove(ada, `${T}?id=eq.${bobs.id}`),
    ])
      expect(found.json).toEqual({ count: 0 });
    await remove(grace, path("team_members", `/${membership.id}`));
    expect((await send(ada, `${T}/${bobs.id}`)).status).toBe(404);
    expect(rowsOf(await send(ada, T)).some(({ id }) => id === bobs.id)).toBe(false);
  });
});

describe("caches and tags", () => {
  test("a page and a tag belong to one person", async () => {
    const { ada, bob, vera, send, wiki } = world;
    for (const at of [T, `${T}?order=title`, `${T}?limit=5`]) {
      const [own, other, whole] = [await send(ada, at), await send(bob, at), await send(wiki, at)];
      expect(rowsOf(own).every(({ owner }) => owner === ada.id)).toBe(true);
      expect(rowsOf(other).every(({ owner }) => owner === bob.id)).toBe(true);
      const tags = [own, other, whole].map(({ headers }) => headers.get("etag") ?? "");
      expect(new Set(tags).size).toBe(3);
      expect((await send(ada, at, { headers: { "if-none-match": tags[0] ?? "" } })).status).toBe(
        304,
      );
      for (const tag of tags.slice(1)) {
        const again = await send(ada, at, { headers: { "if-none-match": tag } });
        expect(isSame(again, own)).toBe(true);
      }
    }
    const nothing = "?title=eq.nothing-at-all";
    const empty = [ada, bob, vera].map(async (by) =>
      (await send(by, T + nothing)).headers.get("etag"),
    );
    expect(new Set(await Promise.all(empty)).size).toBe(3);
  });
});

describe("repeats", () => {
  test("belong to the person, also with the body and the path of another", async () => {
    const { ada, bob, wiki, post, send } = world;
    const key = { "idempotency-key": "tuesday" };
    const first = await post(ada, "todos", { title: "once" }, key);
    const again = await post(ada, "todos", { title: "once" }, key);
    expect([again.text, again.headers.get("idempotency-replayed")]).toEqual([first.text, "true"]);
    const others = await post(bob, "todos", { title: "once" }, key);
    expect([others.status, rowOf(others)["owner"]]).toEqual([201, bob.id]);
    expect(others.headers.get("idempotency-replayed")).toBeNull();
    const server = await post(wiki, "todos", { title: "once", owner: bob.id }, key);
    expect(server.headers.get("idempotency-replayed")).toBeNull();
    expect((await post(ada, "todos", { title: "other" }, key)).status).toBe(422);
    const refused = await post(
      ada,
      "todos",
      { title: "x", status: "approved" },
      { "idempotency-key": "w" },
    );
    expect(refused.status).toBe(403);
    expect((await post(ada, "todos", { title: "x" }, { "idempotency-key": "w" })).status).toBe(201);
    expect((await send(ada, `${T}/${rowOf(others).id}`)).status).toBe(404);
  });

  test("of a row that the person no longer sees do not show it", async () => {
    const { ada, wiki, post, patch, send } = world;
    const key = { "idempotency-key": "later" };
    const made = rowOf(await post(ada, "todos", { title: "given away" }, key));
    await patch(wiki, `${T}/${made.id}`, {
      owner: world.bob.id,
      title: "now secret",
      cost: "7.77",
    });
    const again = await post(ada, "todos", { title: "given away" }, key);
    expect(again.text).not.toMatch(/now secret|7\.77/);
    expect((await send(ada, `${T}/${made.id}`)).status).toBe(404);
  });
});

test("a repeat after a change of the role shows no column that is hidden now", async () => {
  const { service, wiki, post } = world;
  const person = await enter(world, "lead");
  const key = { "idempotency-key": "promoted" };
  const made = await post(person, "todos", { title: "as lead", cost: "7.77" }, key);
  expect(rowOf(made)["cost"]).toBe("7.77");
  await grantRole(service.service, { email: person.email, slug: wiki.slug, role: "member" });
  const again = { ...person, key: await renewKey(world, person) };
  const repeat = await post(again, "todos", { title: "as lead", cost: "7.77" }, key);
  expect(repeat.text).not.toContain('"cost":"7.77"');
});

describe("upserts", () => {
  test("neither change nor show rows of others", async () => {
    const { ada, bob, wiki, post, send } = world;
    const up = (by: typeof ada, json: object, more = "") =>
      post(by, `todos?onConflict=owner,code${more}`, json);
    const made = await up(ada, { title: "a", code: "X-1" });
    expect([made.status, rowOf(made)["owner"]]).toEqual([201, ada.id]);
    expect(rowOf(await send(wiki, `${T}/${bobs.id}`))["title"]).toBe("Bob's secret");
    expect((await up(ada, { title: "b", code: "X-1" })).json).toMatchObject({
      id: rowOf(made).id,
      title: "b",
    });
    for (const more of ["", "&existing=ignore"]) {
      const stolen = await post(ada, `todos?onConflict=tag${more}`, {
        title: "steal",
        tag: "taken",
      });
      expect(stolen.status).toBeOneOf([403, 409]);
      expect(stolen.text).not.toMatch(new RegExp(`secret|${bobs.id}|${bob.id}`));
    }
    expect(rowOf(await send(wiki, `${T}/${bobs.id}`))["title"]).toBe("Bob's secret");
    // A row that is no longer in a state that the person changes.
    await world.patch(wiki, `${T}/${rowOf(made).id}`, { status: "approved" });
    for (const json of [
      { title: "late", code: "X-1" },
      { title: "late", code: "X-1", status: "open" },
    ])
      expect((await up(ada, json)).status).toBe(403);
    const list = await post(ada, "todos?onConflict=owner,code", [
      { title: "new", code: "N-1" },
      { title: "late", code: "X-1" },
    ]);
    expect(list.status).toBe(403);
    expect(rowsOf(await send(wiki, `${T}?code=eq.N-1`))).toEqual([]);
  });

  test("have no key of hidden columns, and need all rights of the role", async () => {
    const { vera, carl, lena, post } = world;
    for (const by of [vera, carl])
      expect(
        (await post(by, "todos?onConflict=owner,code", { title: "x", code: "z" })).status,
      ).toBe(403);
    expect(
      (await post(lena, "todos?onConflict=owner,code", { title: "x", code: "z" })).status,
    ).toBe(201);
  });
});

describe("races", () => {
  /** Writes while another session has changed the row, and ends that session's transaction once the write waits for it. */
  const holdAndWrite = async (text: string, write: () => Promise<{ status: number }>) => {
    const { service } = world;
    const late = await whileDone(service.database.adminUrl, { text }, async () => {
      const waiting = write();
      await eventually(async () => (await countLockWaits(service.service.admin)) > 0);
      return { waiting };
    });
    return (await late.waiting).status;
  };

  test("a write that waited for a row follows its new state", async () => {
    const { ada, bob, wiki, post, patch, remove, send } = world;
    const [first, second, third, fourth] = rowsOf(
      await post(ada, "todos", [{ title: "1" }, { title: "2" }, { title: "3" }, { title: "4" }]),
    ).map(({ id }) => id);
    const set = (id: string | undefined, what: string) =>
      `update data.todos set ${what} where id = '${id}'`;
    const give = `owner = '${bob.id}'`;
    expect(
      await holdAndWrite(set(first, give), () => patch(ada, `${T}/${first}`, { title: "late" })),
    ).toBe(404);
    const approve = "status = 'approved'";
    expect(await holdAndWrite(set(second, approve), () => remove(ada, `${T}/${second}`))).toBe(403);
    expect(
      await holdAndWrite(set(third, give), () => patch(ada, T, [{ id: third, title: "late" }])),
    ).toBe(404);
    const many = await holdAndWrite(set(fourth, give), () =>
      patch(ada, `${T}?id=eq.${fourth}`, { title: "late" }),
    );
    expect(many).toBeOneOf([200, 403]);
    const rows = await Promise.all(
      [first, second, third, fourth].map((id) => send(wiki, `${T}/${id}`)),
    );
    expect(rows.map((row) => rowOf(row)["title"])).toEqual(["1", "2", "3", "4"]);
  });
});
