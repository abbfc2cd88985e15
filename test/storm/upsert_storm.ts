/**
 * Upserts, lists of upserts, creates and updates of the same rows, while random statements are canceled and callers leave: no row
 * exists twice, and no confirmed field is lost.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { countDeadlocks } from "../support/deadlocks.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { countRuns } from "../support/tier.ts";

const SECONDS = countRuns(20);
const WRITERS = 12;
const TAGS = 30;
const FIELDS = Array.from({ length: WRITERS }, (_, n) => `field_${n}`);
const schema = defineSchema({
  things: {
    tag: t.string().required().unique(),
    ...Object.fromEntries(FIELDS.map((name) => [name, t.integer()])),
  },
});
const THINGS = "/v1/data/db/things";

let service: TestService;
let app: TestApp;
beforeAll(async () => {
  service = await openTestService({
    ...{ connections: 8, shape: "one" },
    service: { previews: ["filters"] },
  });
  app = await service.makeApp(schema);
});
afterAll(() => service.close());

type Row = { readonly id: string; readonly tag: string } & Readonly<Record<string, unknown>>;
type Storm = { readonly count: (result: string) => void; readonly isOver: () => boolean };

const tagOf = (n: number) => `tag ${n}`;
const pick = (below: number) => Math.floor(Math.random() * below);

type Sent = { method: "POST" | "PATCH"; path: string; json: unknown; key: string | undefined };

/** The status and the body; `undefined` if the caller left. */
async function send({ method, path, json, key }: Sent, leavesAfterMs: number | undefined) {
  const caller = new AbortController();
  if (leavesAfterMs !== undefined) setTimeout(() => caller.abort(), leavesAfterMs);
  try {
    const response = await fetch(service.url + path, {
      ...{ method, signal: caller.signal, body: JSON.stringify(json) },
      headers: {
        authorization: `Bearer ${app.key}`,
        "content-type": "application/json",
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  } catch (error) {
    if (caller.signal.aborted) return undefined;
    throw error;
  }
}

/**
 * What a row can have in one writer's column: the last confirmed number, and each number whose outcome the writer does not know.
 * The latter can be stored at any time: after its caller left, a write can wait longer than the next one takes.
 */
type Numbers = { confirmed: number; unknown: number[] };

/** Sends a rising number in a column that no other writer changes, to random rows. */
async function writeInTurn(
  { count, isOver }: Storm,
  field: string,
  numbers: Map<string, Numbers>,
): Promise<void> {
  for (let n = 1; !isOver(); n++) {
    const tags = [...new Set(Array.from({ length: 1 + pick(12) }, () => tagOf(pick(TAGS))))];
    const isList = n % 3 > 0;
    const rows = (isList ? tags : tags.slice(0, 1)).map((tag) => ({ tag, [field]: n }));
    for (const { tag } of rows) {
      const { confirmed, unknown } = numbers.get(tag) ?? { confirmed: 0, unknown: [] };
      numbers.set(tag, { confirmed, unknown: [...unknown, n] });
    }
    const sent: Sent = {
      ...{ method: "POST", path: `${THINGS}?onConflict=tag`, json: isList ? rows : rows[0] },
      key: n % 2 === 0 ? crypto.randomUUID() : undefined,
    };
    const got = await send(sent, n % 7 === 0 ? pick(20) : undefined);
    count(`upsert: ${toResult(got)}`);
    if (got === undefined || got.status > 201) continue;
    const stored = (isList ? got.json["rows"] : [got.json]) as Row[];
    if (stored.some((row, place) => row.tag !== rows[place]?.tag || row[field] !== n))
      count("upsert: another's row");
    for (const { tag } of rows) {
      const { unknown = [] } = numbers.get(tag) ?? {};
      numbers.set(tag, { confirmed: n, unknown: unknown.filter((sent) => sent !== n) });
    }
  }
}

/** Creates rows in groups, most of which exist, and writes the same values again to many rows. */
async function createInTurn({ count, isOver }: Storm): Promise<void> {
  while (!isOver()) {
    const create = { method: "POST", path: THINGS, key: undefined } as const;
    const tag = tagOf(pick(TAGS + 1));
    const created = await send({ ...create, json: { tag } }, undefined);
    count(`create: ${created?.status === 409 ? "exists" : toResult(created)}`);
    const { json } = await service.call(app, `${THINGS}?limit=${1 + pick(TAGS)}`);
    const { rows = [] } = json as { rows?: Row[] };
    if (rows.length === 0) continue;
    const again = rows.toReversed().map(({ id, tag }) => ({ id, tag }));
    const update = { method: "PATCH", path: THINGS, json: again, key: undefined } as const;
    count(`update: ${toResult(await send(update, undefined))}`);
  }
}

function toResult(got: Awaited<ReturnType<typeof send>>): string {
  if (got === undefined) return "left";
  return got.status <= 201 ? "right" : `${got.status} ${got.json["error"]}`;
}

/** Cancels a running statement of the service, again and again. */
async function cancelInTurn({ isOver }: Storm): Promise<number> {
  let canceled = 0;
  while (!isOver()) {
    const rows = await service.service.admin.query<{ canceled: boolean }>(
      `select pg_cancel_backend(pid) as canceled from (
        select pid from pg_stat_activity
        where usename <> current_user and datname = current_database() and state = 'active'
        order by random() limit 1 offset 0) as running`,
      [],
      { retry: "safe", queue: SERVICE_QUEUE },
    );
    canceled += rows.length;
    await Bun.sleep(20);
  }
  return canceled;
}

test("no confirmed field is lost, and no row exists twice", async () => {
  const results = new Map<string, number>();
  const endsAt = performance.now() + SECONDS * 1000;
  const storm: Storm = {
    count: (result) => void results.set(result, (results.get(result) ?? 0) + 1),
    isOver: () => performance.now() > endsAt,
  };
  const written = FIELDS.map((field) => ({ field, numbers: new Map<string, Numbers>() }));
  const [canceled] = await Promise.all([
    cancelInTurn(storm),
    ...written.map(({ field, numbers }) => writeInTurn(storm, field, numbers)),
    ...Array.from({ length: 8 }, () => createInTurn(storm)),
  ]);
  const lines = [...results].toSorted().map(([result, times]) => `${times} × ${result}`);
  const { json } = await service.call(app, `${THINGS}?limit=1000`);
  const { rows } = json as { rows: Row[] };
  expect(new Set(rows.map(({ tag }) => tag)).size).toBe(rows.length);
  const byTag = new Map(rows.map((row) => [row.tag, row]));
  const lost = written.flatMap(({ field, numbers }) =>
    [...numbers].filter(
      ([tag, { confirmed, unknown }]) =>
        ![confirmed, ...unknown].includes(Number(byTag.get(tag)?.[field] ?? 0)),
    ),
  );
  expect(lost).toEqual([]);
  const allowed =
    /^\w+: (right|left|exists|503 (unavailable|overloaded|unknown_outcome)|504 timeout)$/;
  expect([...results.keys()].filter((result) => !allowed.test(result))).toEqual([]);
  expect(results.get("upsert: right")).toBeGreaterThan(countRuns(100));
  expect(canceled).toBeGreaterThan(countRuns(20));
  const deadlocks = await countDeadlocks(service);
  expect(deadlocks).toBe(0);
  console.log(`${canceled} canceled, ${deadlocks} deadlocks: ${lines.join(", ")}`);
}, 120_000);
