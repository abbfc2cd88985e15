/** A client that sends 100,000 different errors, 20,000 in a reduced run: all are counted, few are stored, and no stored error contains a value. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { eventually } from "../support/eventually.ts";
import { openTestService } from "../support/service.ts";
import { isFull } from "../support/tier.ts";

/** A reduced run exceeds each limit below, too, and a value that is stored is found in either. */
const ERRORS = isFull() ? 100_000 : 20_000;
const CLIENTS = 32;
/** Limits of an app: see `rowhouse.add_minute`. */
const MAX_KINDS = 200;
const MAX_SAMPLES = 1000;

type Sent = { path: string; method: string; body?: string };

/** Each error contains a unique value, name or id. */
function toError(number: number): Sent {
  const value = `secret_${number}`;
  const send = (json: object) => ({
    ...{ path: "orders", method: "POST", body: JSON.stringify(json) },
  });
  const makers: readonly (() => Sent)[] = [
    () => ({ path: value, method: "GET" }),
    () => ({ path: `orders/${value}`, method: "GET" }),
    () => ({ path: `orders?${value}=1`, method: "GET" }),
    () => ({ path: `orders/${crypto.randomUUID()}`, method: "GET" }),
    () => send({ [value]: 1 }),
    () => send({ title: "a", currency: value }),
    () => send([...Array.from({ length: number % 90 }, () => ({ title: "a" })), { title: number }]),
    () => ({ path: "orders", method: "POST", body: `{${value}` }),
  ];
  return makers[number % makers.length]?.() ?? send({});
}

test("many different errors of a client are counted, and few rows without values are stored", async () => {
  let ahead = 0;
  await using service = await openTestService({ service: { now: () => Date.now() + ahead } });
  const app = await service.makeApp(
    defineSchema({ orders: { title: t.string().required(), currency: t.enum(["EUR", "USD"]) } }),
  );
  const read = <Row>(text: string) => service.query<Row>(text);
  const headers = { authorization: `Bearer ${app.key}`, "content-type": "application/json" };
  let sent = 0;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (sent < ERRORS) {
        const { path, ...init } = toError(sent++);
        const response = await fetch(`${service.url}/v1/data/db/${path}`, { ...init, headers });
        await response.arrayBuffer();
        if (response.status < 400 || response.status > 499)
          throw new Error(`${init.method} ${path}: ${response.status}`);
      }
    }),
  );
  let counted = 0;
  await eventually(
    async () => {
      ahead += 60_000;
      const [found] = await read<{ requests: number }>(
        "select sum(requests)::int4 as requests from rowhouse.rejections where span = 'hour'",
      );
      counted = found?.requests ?? 0;
      return counted >= ERRORS;
    },
    { describe: () => `${counted} errors counted` },
  );
  expect(counted).toBe(ERRORS);
  const [stored] = await read<{ kinds: number; samples: number; text: string }>(
    `select (select count(distinct (table_name, code))::int4 from rowhouse.rejections) as kinds,
      count(*)::int4 as samples, string_agg(stored::text, ' ') as text
    from rowhouse.stored_requests as stored`,
  );
  console.log(`${ERRORS} errors: ${stored?.kinds} counts, ${stored?.samples} requests stored`);
  expect(stored?.kinds).toBeLessThanOrEqual(MAX_KINDS + 1);
  expect(stored?.samples).toBeLessThanOrEqual(MAX_SAMPLES);
  expect(stored?.samples).toBeGreaterThan(0);
  expect(stored?.text).not.toContain("secret");
}, 600_000);
