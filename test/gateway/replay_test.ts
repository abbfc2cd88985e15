/** A captured signed write is accepted once, by the first process of a service that it reaches. */
import { afterAll, expect, test } from "bun:test";
import type { Audience } from "../../src/gateway/signature.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openService } from "../../src/service/open.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService } from "../support/service.ts";
import { type Opened, serve, TEST_SECRETS } from "../support/shape.ts";
import { contextOf, signCall } from "../support/signed.ts";

const SCHEMA = defineSchema({
  todos: { title: t.string() },
  labels: { title: t.string().unique() },
});
const REJECTED = { status: 401, text: '{"error":"invalid_signature"}' };

const proxy = await openPostgresProxy();
const service = await openTestService({ shape: "one" });
const app = await service.makeApp(SCHEMA);
const opened = await Promise.all([open("data"), open("data"), open("identity"), open("identity")]);
afterAll(async () => {
  await Promise.all(opened.map((service) => service.close()));
  await service.close();
  await proxy.close();
});

function open(role: Audience): Promise<Opened> {
  const { roleUrls, pushUrl, prepare } = service.database;
  const options = { adminDatabaseUrl: pushUrl, connections: 5, prepare, keyPrefix: "rh" };
  return serve(
    openService({
      ...options,
      databaseUrl: proxy.toUrl(roleUrls[role]),
      role,
      identitySecrets: [TEST_IDENTITY_SECRET],
      secrets: { [role]: [TEST_SECRETS[role]] },
      log: () => undefined,
    }),
  );
}

const urlOf = (at: number): string => opened[at]?.url ?? "";

/** Captures a create on its way to a service. */
function signWrite(table: "todos" | "labels", title: string): ReturnType<typeof signCall> {
  const target = `/v1/data/db/${table}`;
  return signCall({ audience: "data", target, context: contextOf(app), body: { title } });
}

async function countTodos(title: string): Promise<number | undefined> {
  const [row] = await service.query<{ count: number }>(
    "select count(*)::int4 as count from data.todos where title = $1",
    [title],
  );
  return row?.count;
}

test("a write that reaches two processes happens once", async () => {
  for (let round = 0; round < 20; round++) {
    const title = crypto.randomUUID();
    const send = signWrite("todos", title);
    const sent = [0, 1, 0, 1].map(async (at) => (await send(urlOf(at))).status);
    expect((await Promise.all(sent)).sort()).toEqual([201, 401, 401, 401]);
    expect(await countTodos(title)).toBe(1);
  }
});

test("a rejected write does not happen at another process", async () => {
  const first = signWrite("labels", "urgent");
  const { headers } = await first(urlOf(0));
  const second = signWrite("labels", "urgent");
  expect((await second(urlOf(0))).status).toBe(409);
  const removed = await service.call(app, headers.get("location") ?? "", { method: "DELETE" });
  expect(removed.status).toBe(204);
  expect(await second(urlOf(1))).toMatchObject(REJECTED);
});

test("a nonce of another identity service ends no session", async () => {
  const target = "/v1/auth/logout";
  const send = signCall({ audience: "identity", target, context: contextOf(undefined), body: "" });
  expect((await send(urlOf(2))).status).toBe(204);
  expect(await send(urlOf(3))).toMatchObject(REJECTED);
});

test("reads need no nonce, and simultaneous writes share one query", async () => {
  const counted = proxy.count("use_nonces");
  const read = signCall({ audience: "data", target: "/v1/data/db/todos", context: contextOf(app) });
  for (const at of [0, 1]) expect((await read(urlOf(at))).status).toBe(200);
  expect(proxy.count("use_nonces")).toBe(counted);
  const writes = Array.from({ length: 40 }, () => signWrite("todos", "together")(urlOf(0)));
  for (const { status } of await Promise.all(writes)) expect(status).toBe(201);
  expect(proxy.count("use_nonces") - counted).toBeLessThan(20);
});
