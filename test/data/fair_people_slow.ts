/** One person's flood of heavy queries leaves the app's other people and its server their turn. */
import { describe, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { eventually } from "../support/eventually.ts";
import { whileLocked } from "../support/held_lock.ts";
import { mintPersonKey } from "../support/minted_key.ts";
import { makePerson, signInAs } from "../support/people.ts";
import { getPersonKey, openToBrowsers } from "../support/person_keys.ts";
import { type Call, openTestService, type TestApp, type TestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";

const ORIGIN = "https://wiki.example.org";
const TODOS = "/v1/data/db/todos";
const TEXT = "abcd ".repeat(300);
const schema = defineSchema({
  todos: t
    .model({ title: t.string().required(), owner: t.uuid().required().owner() })
    .allow("member", "everything"),
});

/** Repeats a request with many callers until the returned function is called. */
function flood(send: () => Promise<unknown>, callers: number): () => Promise<unknown> {
  let isOver = false;
  const all = Array.from({ length: callers }, async () => {
    while (!isOver) await send();
  });
  return () => {
    isOver = true;
    return Promise.all(all);
  };
}

describe.each(SHAPES)("in the shape %s", (shape) => {
  const open = () =>
    openTestService({
      ...{ shape, connections: 20, identity: () => ({ cookieDomain: "example.org" }) },
      service: { previews: ["browser", "filters"] },
    });

  async function makeMember(service: TestService, app: TestApp): Promise<string> {
    const cookies = await signInAs(service, await makePerson(service, { app, role: "member" }));
    const { key } = await getPersonKey(service, { cookies, app, origin: ORIGIN });
    service.secrets.add(key);
    return key;
  }

  test("300 heavy queries of one person do not stop others of the app", async () => {
    const service = await open();
    const app = await service.makeApp(schema, { origins: [ORIGIN] });
    await openToBrowsers(service, app);
    const [ada, bob] = [await makeMember(service, app), await makeMember(service, app)];
    const likes = ["abcdz", "bcdaz", "cdabz"].map(
      (letters) => `title.ilike.*${[...letters].join("*")}*`,
    );
    const heavy = `${TODOS}?or=(${likes.join(",")})&limit=1`;
    const rows = Array.from({ length: 60 }, () => ({ title: TEXT, owner: crypto.randomUUID() }));
    for (let n = 0; n < 150; n++)
      expect((await service.call(app, TODOS, { method: "POST", json: rows })).status).toBe(201);
    const first = await service.call(undefined, heavy, { key: ada });
    expect(first.status).toBe(200);
    const end = flood(() => service.call(undefined, heavy, { key: ada }), 300);
    await Bun.sleep(500);
    const statuses = async (key: string, call: Call, count = 12, path = TODOS) => {
      const sent = Array.from({ length: count }, () =>
        service.call(undefined, path, { ...call, key }),
      );
      return (await Promise.all(sent)).map(({ status }) => status);
    };
    const post = { method: "POST", json: { title: "mine" } };
    const owned = { method: "POST", json: { title: "ours", owner: crypto.randomUUID() } };
    const found = {
      writes: await statuses(bob, post),
      reads: await statuses(bob, {}),
      // It takes turns with the others.
      queries: await statuses(bob, {}, 1, heavy),
      ofServer: await statuses(app.key, owned),
    };
    await end();
    expect(found).toEqual({
      writes: Array(12).fill(201),
      reads: Array(12).fill(200),
      queries: [200],
      ofServer: Array(12).fill(201),
    });
    await service.close();
  });
});

test("one person's requests leave connections of the app to its other people and its server", async () => {
  await using service = await openTestService({
    ...{ shape: "one", connections: 6, service: { previews: ["browser"] } },
    // Each call has a connection of its own.
    prepare: false,
  });
  const app = await service.makeApp(schema);
  await setAppSwitch(service.service, app.slug, ["browser", true]);
  const { admin } = service.service;
  const make = () =>
    mintPersonKey(admin, { app: app.id, person: crypto.randomUUID(), role: "member" });
  const [ada, bob] = [await make(), await make()];
  for (const key of [ada, bob]) service.secrets.add(key);
  // Creates at once would share a statement.
  const update = (key: string) =>
    service.call(undefined, `${TODOS}/${crypto.randomUUID()}`, {
      method: "PATCH",
      key,
      json: { title: "x" },
    });
  const countWaiting = async () => {
    const [found] = await service.query<{ count: number }>(
      `select count(*)::int4 as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%api.%'`,
    );
    return found?.count;
  };
  const sent = await whileLocked(service.database.adminUrl, "todos", async () => {
    const all = Array.from({ length: 40 }, () => update(ada));
    // Three quarters of the five connections of an app.
    await eventually(async () => (await countWaiting()) === 3);
    all.push(update(bob));
    await eventually(async () => (await countWaiting()) === 4);
    all.push(update(app.key));
    await eventually(async () => (await countWaiting()) === 5);
    return all;
  });
  expect(new Set((await Promise.all(sent)).map(({ status }) => status))).toEqual(new Set([404]));
});
