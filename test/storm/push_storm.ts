/** Pushes under races, kills, locks and traffic: directly, and through a real PgBouncer in transaction mode. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { LOCK_BUDGET_MS, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import type { Applied } from "../../src/tables/history/migration_text.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { makeDatabase, withDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { PGBOUNCER, type Pooler, startPooler } from "../support/pgbouncer.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { freshName, postSchema, readDeclared, readMigrations } from "../support/push.ts";
import {
  openTestService,
  type TestApp,
  type TestResponse,
  type TestService,
} from "../support/service.ts";
import { countRuns, isFull } from "../support/tier.ts";

const MAX_WAIT_MS = 60_000;
/** A kill at every message, or in a reduced run at every tenth. */
const STRIDE = isFull() ? 1 : 10;
/** A push has more than a hundred statements, each of which is slowed down. */
const STATEMENT_STRIDE = isFull() ? 5 : 20;
const MIN_STOPS = countRuns(5);
const CONNECTIONS = [
  { name: "directly", isPooled: false },
  { name: "through PgBouncer", isPooled: true },
].filter(({ isPooled }) => !isPooled || PGBOUNCER !== null);

/** Retries while the service is busy, as the command does. */
async function pushPatiently(
  service: TestService,
  app: TestApp,
  schema: unknown,
): Promise<TestResponse> {
  const deadline = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const response = await postSchema(service, app, schema);
    const isBusy = response.status === 409 && response.text.includes('"push_busy"');
    if (!isBusy || performance.now() > deadline) return response;
    expect(response.headers.get("retry-after")).toBe("1");
    await Bun.sleep(20 + Math.random() * 80);
  }
}

/** Expects one history: numbers without a gap, and each migration based on the previous. */
async function expectLinear(service: TestService, app: TestApp, count: number): Promise<void> {
  const migrations = await readMigrations(service, app);
  expect(migrations.map(({ seq }) => seq)).toEqual(Array.from({ length: count }, (_, n) => n + 1));
  expect(migrations.map(({ parent }) => parent)).toEqual([
    "",
    ...migrations.slice(0, -1).map(({ checksum }) => checksum),
  ]);
}

describe.each(CONNECTIONS)("pushes $name", ({ isPooled }) => {
  let pooler: Pooler | undefined;
  let service: TestService;
  beforeAll(async () => {
    if (isPooled) {
      const { adminUrl, servingUrl, pushUrl, drop } = await makeDatabase();
      pooler = await startPooler(adminUrl, {
        poolSize: 20,
        clients: 200,
        users: Object.fromEntries([adminUrl, servingUrl, pushUrl].map(readLogin)),
      });
      await drop();
    }
    const toUrl = (url: string) => pooler?.toUrl(url) ?? url;
    service = await openTestService({
      toServingUrl: toUrl,
      toAdminUrl: toUrl,
      ...(isPooled ? { prepare: false } : {}),
    });
  });
  afterAll(async () => {
    await service.close();
    await pooler?.close();
  });

  test(
    "make one of two racing apps the owner of a new table, and check the other app against it",
    async () => {
      const apps = [await service.makeApp(), await service.makeApp()] as const;
      const outcomes = new Set<string>();
      for (let round = 0; round < 20; round++) {
        const name = freshName();
        const schemas = [
          defineSchema({ [name]: { title: t.string() } }),
          defineSchema({ [name]: round % 2 === 0 ? { title: t.string() } : { title: t.number() } }),
        ] as const;
        const responses = await Promise.all([
          pushPatiently(service, apps[0], schemas[0]),
          pushPatiently(service, apps[1], schemas[1]),
        ]);
        const statuses = responses.map(({ status }) => status).sort();
        expect(statuses).toEqual(round % 2 === 0 ? [200, 200] : [200, 409]);
        for (const { status, text } of responses)
          if (status === 409) expect(text).toContain("incompatible_schema");
        outcomes.add(String(responses.findIndex(({ text }) => text.includes("NEW:"))));
      }
      expect(outcomes.has("-1")).toBe(false);
      expect(await readDrift(service.service.admin)).toEqual([]);
    },
    MAX_WAIT_MS,
  );

  test(
    "succeed in parallel for one app, in one linear history",
    async () => {
      const app = await service.makeApp();
      const names = Array.from({ length: 20 }, () => freshName());

      const responses = await Promise.all(
        names.map((name) =>
          pushPatiently(service, app, defineSchema({ [name]: { title: t.string().unique() } })),
        ),
      );

      expect(responses.map(({ status }) => status)).toEqual(names.map(() => 200));
      await expectLinear(service, app, 20);
      expect(await readDrift(service.service.admin)).toEqual([]);
    },
    MAX_WAIT_MS,
  );

  test(
    "create one migration for the same change in parallel",
    async () => {
      const app = await service.makeApp();
      const schema = defineSchema({ [freshName()]: { title: t.string().unique() } });
      const responses = await Promise.all(
        Array.from({ length: 20 }, () => pushPatiently(service, app, schema)),
      );
      expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
      expect(responses.filter(({ text }) => text.includes('"applied"')).length).toBe(1);
      await expectLinear(service, app, 1);
    },
    MAX_WAIT_MS,
  );

  test(
    "are complete or absent after the service is killed at any message",
    async () => {
      const { pushUrl, servingUrl } = service.database;
      const toUrl = (url: string) => pooler?.toUrl(url) ?? url;
      let isWhole = false;
      for (let stopAfter = 1; !isWhole; stopAfter += STRIDE) {
        expect(stopAfter).toBeLessThan(60);
        const app = await service.makeApp();
        const schema = defineSchema({
          [freshName()]: { title: t.string().unique(), kind: t.enum(["a", "b"]) },
        });
        const proxy = await openPostgresProxy();
        const { child, port } = await startService({
          databaseUrl: toUrl(servingUrl),
          adminDatabaseUrl: proxy.toUrl(toUrl(pushUrl)),
          prepare: !isPooled,
        });
        const isStopped = freezeAfter(proxy, stopAfter);
        const pushing = postAt(service, port, app, schema).catch(() => undefined);
        const responded = pushing.then((response) => response !== undefined);
        isWhole = await Promise.race([responded, eventually(isStopped).then(() => false)]);
        child.kill("SIGKILL");
        await child.exited;
        await proxy.close();

        // The database may still run the service's last statements.
        await eventually(async () => (await readDrift(service.service.admin)).length === 0);
        const again = await pushPatiently(service, app, schema);
        expect(again.status).toBe(200);
        await expectLinear(service, app, 1);
        expect(await readDrift(service.service.admin)).toEqual([]);
      }
    },
    3 * MAX_WAIT_MS,
  );

  test(
    "leave nothing if the service is killed during the statements, and succeed the next time",
    async () => {
      const { pushUrl, servingUrl } = service.database;
      const toUrl = (url: string) => pooler?.toUrl(url) ?? url;
      const makeSchema = (name: string) =>
        defineSchema({ [name]: { title: t.string().unique(), kind: t.enum(["a", "b"]) } });
      const expectedName = freshName();
      const expectedApp = await service.makeApp(makeSchema(expectedName));
      const expected = await readRecord(service, expectedApp, expectedName);
      const stops: Stop[] = [];
      await service.service.admin.message(SLOW_DDL);
      try {
        for (let step = 1; stops.at(-1)?.isWhole !== true; step += STATEMENT_STRIDE) {
          expect(step).toBeLessThan(200);
          const [app, name] = [await service.makeApp(), freshName()];
          const proxy = await openPostgresProxy();
          const { child, port } = await startService({
            databaseUrl: toUrl(servingUrl),
            adminDatabaseUrl: proxy.toUrl(toUrl(pushUrl)),
            prepare: !isPooled,
          });
          const responded: string[] = [];
          let statements = 0;
          proxy.onMessage(({ from, type, body }) => {
            if (from === "client") return undefined;
            if (type === "C") responded.push(body.toString("utf8", 0, body.length - 1));
            if (type === "N") statements++;
            return type === "N" && statements === step
              ? { after: () => child.kill("SIGKILL") }
              : undefined;
          });
          const response = await postAt(service, port, app, makeSchema(name)).catch(
            () => undefined,
          );
          child.kill("SIGKILL");
          await child.exited;
          await proxy.close();

          const again = await pushPatiently(service, app, makeSchema(name));
          expect(again.status).toBe(200);
          stops.push({
            isWhole: response !== undefined,
            isLocked: responded.includes("DO"),
            isUndone: again.text.includes('"applied"'),
            responded: responded.length,
          });
          expect(await readRecord(service, app, name)).toEqual(expected);
          await expectLinear(service, app, 1);
          expect(await readDrift(service.service.admin)).toEqual([]);
        }
      } finally {
        await service.service.admin.message(NO_SLOW_DDL);
      }
      const between = stops.filter((stop) => stop.isLocked && stop.isUndone && !stop.isWhole);
      expect(between.length).toBeGreaterThanOrEqual(MIN_STOPS);
      // Each stop happened at a different message.
      expect(new Set(between.map(({ responded }) => responded)).size).toBeGreaterThanOrEqual(
        MIN_STOPS,
      );
    },
    3 * MAX_WAIT_MS,
  );

  test(
    "never fail another app's requests, and delay them no longer than the lock budget",
    async () => {
      const name = freshName();
      const columns = { title: t.string().required(), state: t.enum(["a", "c"]) };
      const owner = await service.makeApp(defineSchema({ [name]: columns }));
      const other = await service.makeApp(defineSchema({ [name]: columns }));
      const path = `/v1/data/db/${name}`;
      let isOver = false;
      let [maxMs, count] = [0, 0];
      const failures: string[] = [];
      const work = async (n: number) => {
        while (!isOver) {
          const startedAt = performance.now();
          const response = await service.call(
            other,
            n % 2 === 0 ? `${path}?limit=5` : path,
            n % 2 === 0 ? {} : { method: "POST", json: { title: "x", state: "a" } },
          );
          maxMs = Math.max(maxMs, performance.now() - startedAt);
          count++;
          if (response.status >= 300) failures.push(response.text);
        }
      };
      const traffic = Promise.all([0, 1, 2, 3].map(work));
      await eventually(async () => count > 200);

      const steps = [
        { ...columns, label: t.string() },
        { ...columns, label: t.string().index() },
        { ...columns, label: t.string().index(), state: t.enum(["a", "b", "c"]) },
        {
          ...columns,
          label: t.string().index(),
          state: t.enum(["a", "b", "c"]),
          at: t.timestamp().required().default("now"),
        },
        {
          ...columns,
          label: t.string().index(),
          state: t.enum(["a", "b", "c"]),
          at: t.timestamp().required().default("now"),
          parent: t.ref(name),
        },
      ];
      for (const step of steps) {
        const response = await pushPatiently(service, owner, defineSchema({ [name]: step }));
        expect(response.text).toContain('"applied"');
        const countBefore = count;
        await eventually(async () => count > countBefore + 100);
      }
      isOver = true;
      await traffic;

      expect(failures).toEqual([]);
      expect(maxMs).toBeLessThan(LOCK_BUDGET_MS + 1000);
      expect(await readDrift(service.service.admin)).toEqual([]);
    },
    2 * MAX_WAIT_MS,
  );

  test(
    "end as busy behind a long transaction, and delay no request beyond its budget",
    async () => {
      const [held, free] = [freshName(), freshName()];
      const owner = await service.makeApp(defineSchema({ [held]: { title: t.string() } }));
      const other = await service.makeApp(defineSchema({ [held]: { title: t.string() } }));
      const stranger = await service.makeApp();
      await withDatabase(service.database.adminUrl, async (blocker) => {
        const holding = blocker
          .message(`lock table data.${held} in access share mode; select pg_sleep(600)`, {
            timeoutMs: 600_000,
          })
          .catch(() => undefined);
        await eventually(
          async () =>
            (
              await service.service.admin.query<{ n: number }>(
                "select count(*)::int4 as n from pg_locks where relation = to_regclass($1) and granted",
                [`data.${held}`],
                { retry: "safe", queue: SERVICE_QUEUE },
              )
            )[0]?.n === 1,
        );

        const pushing = postSchema(
          service,
          owner,
          defineSchema({ [held]: { title: t.string(), label: t.string() } }),
        );
        const waits: number[] = [];
        let isDone = false;
        void pushing.finally(() => {
          isDone = true;
        });
        while (!isDone) {
          const startedAt = performance.now();
          const listed = await service.call(other, `/v1/data/db/${held}`);
          expect(listed.status).toBe(200);
          waits.push(performance.now() - startedAt);
        }
        const startedAt = performance.now();
        const unrelated = await Promise.all([
          postSchema(
            service,
            owner,
            defineSchema({ [held]: { title: t.string(), label: t.string() } }),
          ),
          postSchema(service, stranger, defineSchema({ [free]: { title: t.string() } })).then(
            (response) => ({ response, durationMs: performance.now() - startedAt }),
          ),
        ]);

        expect(await pushing).toMatchObject({ status: 409, json: { error: "push_busy" } });
        expect(Math.max(...waits)).toBeLessThan(LOCK_BUDGET_MS + 1000);
        expect(unrelated[0].status).toBe(409);
        expect(unrelated[1].response.text).toContain('"applied"');
        expect(unrelated[1].durationMs).toBeLessThan(LOCK_BUDGET_MS);
        await service.service.admin.message(
          `select pg_terminate_backend(pid) from pg_locks where relation = to_regclass('data.${held}') and granted`,
        );
        await holding;
      });
      const pushed = await pushPatiently(
        service,
        owner,
        defineSchema({ [held]: { title: t.string(), label: t.string() } }),
      );
      expect(pushed.text).toContain('"applied"');
    },
    MAX_WAIT_MS,
  );

  test(
    "create 150 tables of 25 columns, repeat without a statement, and change one column",
    async () => {
      const prefix = freshName("big");
      const makeSchema = (extra: object = {}) =>
        defineSchema(
          Object.fromEntries(
            Array.from({ length: 150 }, (_, n) => [
              `${prefix}_${n}`,
              {
                ...Object.fromEntries(
                  Array.from({ length: 25 }, (_c, c) => [`column_${c}`, t.string()]),
                ),
                ...(n === 77 ? extra : {}),
              },
            ]),
          ),
        );
      const app = await service.makeApp();
      expect((await pushPatiently(service, app, makeSchema())).text).toContain('"applied"');
      const before = await service.service.admin.query(
        "select xmin::text, name from rowhouse.tables order by name",
        [],
        { retry: "safe", queue: SERVICE_QUEUE },
      );

      expect((await pushPatiently(service, app, makeSchema())).json).toMatchObject({
        status: "unchanged",
        migration: null,
      });
      expect(
        await service.service.admin.query(
          "select xmin::text, name from rowhouse.tables order by name",
          [],
          { retry: "safe", queue: SERVICE_QUEUE },
        ),
      ).toEqual(before);
      const changed = await pushPatiently(service, app, makeSchema({ more: t.number() }));

      const { migration, steps } = changed.json as { migration: Applied; steps: string[] };
      expect(steps).toEqual([`add column ${prefix}_77.more`]);
      expect(migration.sql.match(/^alter table/gm)?.length).toBe(1);
      const after = await service.service.admin.query<{ xmin: string; name: string }>(
        "select xmin::text, name from rowhouse.tables order by name",
        [],
        { retry: "safe", queue: SERVICE_QUEUE },
      );
      expect(
        after.filter((row, n) => Bun.deepEquals(row, before[n]) === false).map(({ name }) => name),
      ).toEqual([`${prefix}_77`]);
    },
    MAX_WAIT_MS,
  );

  test(
    "make a new column writable through another process immediately",
    async () => {
      const toUrl = (url: string) => pooler?.toUrl(url) ?? url;
      const { child, port } = await startService({
        databaseUrl: toUrl(service.database.servingUrl),
        adminDatabaseUrl: toUrl(service.database.pushUrl),
        prepare: !isPooled,
      });
      const name = freshName();
      const app = await service.makeApp(defineSchema({ [name]: { c0: t.number() } }));
      const columns: Record<string, unknown> = { c0: t.number() };
      for (let n = 1; n <= 15; n++) {
        columns[`c${n}`] = t.number();
        expect(
          (await pushPatiently(service, app, defineSchema({ [name]: { ...columns } } as never)))
            .status,
        ).toBe(200);
        const created = await callAt(`http://127.0.0.1:${port}`, app, `/v1/data/db/${name}`, {
          method: "POST",
          json: { [`c${n}`]: n },
        });
        expect(created.json).toMatchObject({ [`c${n}`]: n });
      }
      child.kill("SIGKILL");
      await child.exited;
    },
    MAX_WAIT_MS,
  );
});

/** Freezes every connection after this many more messages of the service. Returns a function that returns whether it has. */
function freezeAfter({ freeze, onMessage }: PostgresProxy, messages: number): () => boolean {
  let left = messages;
  onMessage(({ from }) => {
    if (from === "client") left--;
    return left === 0 ? { after: freeze } : undefined;
  });
  return () => left <= 0;
}

/** The state of a push when its service was killed, and the result. */
type Stop = {
  /** The push had sent its response. */
  isWhole: boolean;
  /** The push held its locks. */
  isLocked: boolean;
  /** The next push applied all changes. */
  isUndone: boolean;
  responded: number;
};

/**
 * PostgreSQL buffers the responses to a simple query until its end, but flushes them with a notice. A notice and a pause for
 * each DDL statement create points at which to kill the service during a push.
 */
const SLOW_DDL = `create function public.slow_ddl() returns event_trigger language plpgsql as $$
begin raise notice 'begun'; perform pg_catalog.pg_sleep(0.03); end $$;
create event trigger slow_ddl on ddl_command_start execute function public.slow_ddl()`;
const NO_SLOW_DDL = "drop event trigger slow_ddl; drop function public.slow_ddl()";

/** Returns an app's records, without the parts that differ between apps. */
async function readRecord(service: TestService, app: TestApp, name: string): Promise<unknown> {
  const { text } = await service.call(app, "/v1/data/schema");
  const migrations = await readMigrations(service, app);
  const declared = await readDeclared(service.service.admin, app);
  const record = JSON.stringify([JSON.parse(text), migrations, declared])
    .replaceAll(name, "one_table")
    // The hash of a column set covers the table's name.
    .replaceAll(/(?<=one_table__)[0-9a-f]{16}(?=_)/g, "one_set")
    // A migration's text ends with its checksum, which covers the name too.
    .replaceAll(/checksum sha256:[0-9a-f]{64}/g, "checksum")
    .replaceAll(app.slug, "one_app");
  return JSON.parse(record, (key, value: unknown) => (key === "checksum" ? undefined : value));
}

async function startService(settings: object) {
  const script = join(import.meta.dirname, "service_process.ts");
  const child = Bun.spawn([process.execPath, script, JSON.stringify(settings)], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const { value } = await child.stdout.getReader().read();
  return { child, port: Number(new TextDecoder().decode(value)) };
}

/** Pushes through the service of another process. */
function postAt(
  service: TestService,
  port: number,
  app: TestApp,
  schema: unknown,
): Promise<TestResponse> {
  const call: TestService["call"] = (caller, path, options) =>
    callAt(`http://127.0.0.1:${port}`, caller, path, options);
  return postSchema({ ...service, call }, app, schema);
}

/** Sends a request to a service at another address. */
async function callAt(
  url: string,
  app: TestApp | undefined,
  path: string,
  call: { method?: string; json?: unknown } = {},
): Promise<TestResponse> {
  const response = await fetch(url + path, {
    method: call.method ?? "GET",
    headers: { authorization: `Bearer ${app?.key}`, "content-type": "application/json" },
    ...(call.json === undefined ? {} : { body: JSON.stringify(call.json) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: text === "" ? undefined : JSON.parse(text),
  };
}

function readLogin(url: string): [string, string] {
  const { username, password } = new URL(url);
  return [decodeURIComponent(username), decodeURIComponent(password)];
}
