/** A person's key at the gateway: one app, only rows, one rate limit for all keys of the person, and no person in the log. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { routes } from "../../src/service/routes.ts";
import { type Jar, makePerson, type Person, signInAs } from "../support/people.ts";
import { getPersonKey, openToBrowsers } from "../support/person_keys.ts";
import { fillPath } from "../support/samples/routes.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";

const ORIGIN = "https://wiki.example.org";
const OTHER_ORIGIN = "https://blog.example.org";
const LIST = "/v1/data/db/todos";
const LIMIT = 40;

describe.each(SHAPES)("in the shape %s, a person's key", (shape) => {
  let service: TestService;
  let app: TestApp;
  let ada: Person;
  let jar: Jar;
  let key: string;
  beforeAll(async () => {
    service = await openTestService({
      shape,
      identity: () => ({ cookieDomain: "example.org" }),
      service: { previews: ["browser"], personPerMinute: LIMIT },
    });
    const schema = defineSchema({ todos: t.model({ title: t.string() }) });
    app = await service.makeApp(schema, { origins: [ORIGIN] });
    await service.makeApp(schema, { origins: [OTHER_ORIGIN] });
    await openToBrowsers(service, app);
    ada = await makePerson(service, { app });
    jar = await signInAs(service, ada);
    await service.service.warm();
    ({ key } = await getPersonKey(service, { cookies: jar, app, origin: ORIGIN }));
  });
  afterAll(() => service.close());

  const newKey = async (cookies: Jar) =>
    (await getPersonKey(service, { cookies, app, origin: ORIGIN })).key;

  test("opens no route but those of rows and of its person", async () => {
    const cookies = await signInAs(service, await makePerson(service, { app }));
    const of = await newKey(cookies);
    const open = ["/v1/data/db/", "/v1/data/me"];
    const others = routes.filter(
      ({ access, path }) => access.endsWith("key") && !open.some((start) => path.startsWith(start)),
    );
    expect(others.length).toBeGreaterThan(3);
    for (const { method, path, access } of others) {
      const { status, json } = await service.call(undefined, fillPath(path, { seq: "1" }), {
        method,
        key: of,
        ...(method === "GET" ? {} : { json: {} }),
      });
      const want = access === "key" ? [403, "forbidden"] : [401, "unauthenticated"];
      expect([method, path, status, Object(json).error]).toEqual([method, path, ...want]);
    }
  });

  test("opens no row of a table without rules", async () => {
    const cookies = await signInAs(service, await makePerson(service, { app, role: "admin" }));
    const of = await newKey(cookies);
    await service.call(app, LIST, { method: "POST", json: { title: "a row of the server" } });
    const row = `${LIST}/01890000-0000-7000-8000-000000000000`;
    const tried: [string, string, unknown?][] = [
      ["GET", LIST],
      ["GET", row],
      ["POST", LIST, { title: "x" }],
      ["POST", LIST, [{ title: "x" }]],
      ["PATCH", row, { title: "x" }],
      ["DELETE", row],
    ];
    for (const [method, path, json] of tried) {
      const { status, text } = await service.call(undefined, path, {
        method,
        key: of,
        ...(json === undefined ? {} : { json }),
      });
      expect([method, path, [401, 403].includes(status)]).toEqual([method, path, true]);
      expect(text).not.toContain("a row of the server");
    }
    expect((await service.call(app, LIST)).json).toMatchObject({ rows: [{}] });
  });

  test("is readable only at origins of its app", async () => {
    const at = async (origin: string) =>
      (await service.call(undefined, LIST, { key, headers: { origin } })).headers.get(
        "access-control-allow-origin",
      );
    expect(await at(ORIGIN)).toBe(ORIGIN);
    expect(await at(OTHER_ORIGIN)).toBeNull();
    expect(await at("null")).toBeNull();
  });

  test("is not a cookie: data routes ignore cookies", async () => {
    const headers = { cookie: [...jar].map((pair) => pair.join("=")).join("; "), origin: ORIGIN };
    expect((await service.call(undefined, LIST, { headers })).status).toBe(401);
  });

  test(`shares ${LIMIT} requests a minute with all keys of the person`, async () => {
    const cookies = await signInAs(service, await makePerson(service, { app }));
    const keys = [await newKey(cookies), await newKey(cookies)];
    const policies = new Set<string | null>();
    let limited = 0;
    for (let count = 0; count < LIMIT + 30; count++) {
      const of = keys[count % 2] ?? "";
      const { status, headers, json } = await service.call(undefined, LIST, { key: of });
      policies.add(headers.get("ratelimit-policy"));
      if (status !== 429) continue;
      limited++;
      expect(json).toMatchObject({ error: "rate_limited" });
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect([...policies]).toEqual([`"app";q=600000;w=60, "person";q=${LIMIT};w=60`]);
    expect(limited).toBeGreaterThanOrEqual(5);
    const third = await newKey(cookies);
    // One request can be accepted each 1.5 s.
    const more = Array.from({ length: 10 }, () => service.call(undefined, LIST, { key: third }));
    expect((await Promise.all(more)).map(({ status }) => status)).toContain(429);
    const another = await signInAs(service, await makePerson(service, { app }));
    const free = await service.call(undefined, LIST, { key: await newKey(another) });
    expect(free.status).not.toBe(429);
    expect((await service.call(app, LIST)).status).toBe(200);
  });

  test("uses up its limit by bytes that it writes, announced or not", async () => {
    const { url } = service;
    const send = async (of: string, body: BodyInit) =>
      (
        await fetch(`${url}${LIST}`, {
          method: "POST",
          headers: { authorization: `Bearer ${of}`, "content-type": "application/json" },
          body,
        })
      ).status;
    const text = JSON.stringify({ title: "x".repeat(90_000) });
    const bodies = [() => text, () => new Blob([text]).stream()];
    for (const makeBody of bodies) {
      const cookies = await signInAs(service, await makePerson(service, { app }));
      const of = await newKey(cookies);
      const statuses: number[] = [];
      for (let count = 0; count < 8; count++) statuses.push(await send(of, makeBody()));
      expect(statuses).toContain(429);
    }
    expect(await send(app.key, text)).toBe(201);
  });

  test("is in the log only by its id, without its person", () => {
    const id = key.slice(3, 19);
    expect(service.log.filter((line) => line.includes(id)).length).toBeGreaterThan(0);
    for (const personal of [ada.id, ada.email])
      expect(service.log.filter((line) => line.includes(personal))).toEqual([]);
  });
});
