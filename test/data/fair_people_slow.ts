/** One person's flood of heavy queries leaves the app's other people and its server their turn. */
import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
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
    .allow("member", { read: true, create: true }),
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
    const statuses = async (key: string, call: Call) => {
      const sent = Array.from({ length: 12 }, () =>
        service.call(undefined, TODOS, { ...call, key }),
      );
      return (await Promise.all(sent)).map(({ status }) => status);
    };
    const post = { method: "POST", json: { title: "mine" } };
    const owned = { method: "POST", json: { title: "ours", owner: crypto.randomUUID() } };
    const found = {
      writes: await statuses(bob, post),
      reads: await statuses(bob, {}),
      ofServer: await statuses(app.key, owned),
    };
    await end();
    expect(found).toEqual({
      writes: Array(12).fill(201),
      reads: Array(12).fill(200),
      ofServer: Array(12).fill(201),
    });
    await service.close();
  });
});
