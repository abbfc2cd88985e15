import { describe, expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { MAX_AGE_MS, makeGuard } from "../../src/service/isolation_guard.ts";
import { IsolationError, openService } from "../../src/service/open.ts";
import { recordRelease } from "../../src/tables/mod.ts";
import { byHand } from "../support/citus.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { signatureOf } from "../support/functions.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ service: { checkIntervalMs: 50 } }));
const app = await service.makeApp(schema);

const GET_SIGNATURE = signatureOf(schema, "todos", "get");
const NO_ENDPOINT = GET_SIGNATURE.replace(/_get\(.*/, "get");

const PLANT =
  "create function data.planted(value text) returns text language sql immutable as 'select value'";

/** Statements that break the isolation, statements that repair it, and the issue. `guard_findings_test.ts` has every attack. */
const BREAKS = [
  {
    name: "disabled row security",
    attack: "alter table data.todos disable row level security",
    repair: "alter table data.todos enable row level security",
    issue: "Table data.todos must have row security enabled and forced",
  },
  {
    name: "rows granted to public",
    attack: "grant select on data.todos to public",
    repair: "revoke select on data.todos from public",
    issue: "Relation data.todos must be granted only to rowhouse_tenant, and only for rows",
  },
  {
    name: "a function with another body",
    attack: swapBody("begin", "begin perform 1;"),
    repair: swapBody("begin perform 1;", "begin"),
    issue: `Function api.${GET_SIGNATURE.replaceAll("pg_catalog.", "").replace("int4", "integer")} must have the body that this release generates`,
  },
  {
    name: "a function with columns that no push can have recorded",
    attack: `insert into rowhouse.column_sets (app_id, table_name, hash, definition)
      select app_id, table_name, '0000000000000000', '{"name":"todos","columns":[{"name":"x","kind":"planted"}]}'
        from rowhouse.column_sets where table_name = 'todos' limit 1;
      create function api.todos__0000000000000000_get() returns text language plpgsql security definer as 'begin return null; end';
      alter function api.todos__0000000000000000_get() owner to rowhouse_tenant;
      revoke execute on function api.todos__0000000000000000_get() from public`,
    repair: `drop function api.todos__0000000000000000_get();
      delete from rowhouse.column_sets where hash = '0000000000000000'`,
    issue:
      "Function api.todos__0000000000000000_get() must have the body that this release generates",
  },
  {
    name: "a function that no push recorded",
    attack: `create function api.planted() returns text language plpgsql security definer as 'begin return null; end';
      alter function api.planted() owner to rowhouse_tenant;
      revoke execute on function api.planted() from public`,
    repair: "drop function api.planted()",
    issue: "Function api.planted must be one that a push recorded",
  },
  {
    name: "a function whose name only begins with that of a set",
    attack: `create function api.${NO_ENDPOINT}() returns text language plpgsql security definer as 'begin return null; end';
      alter function api.${NO_ENDPOINT}() owner to rowhouse_tenant;
      revoke execute on function api.${NO_ENDPOINT}() from public`,
    repair: `drop function api.${NO_ENDPOINT}()`,
    issue: `Function api.${NO_ENDPOINT} must be one that a push recorded`,
  },
];

/** Replaces the start of a function's body. */
function swapBody(from: string, to: string): string {
  return `do $do$ begin execute regexp_replace(
    pg_get_functiondef('api.${GET_SIGNATURE}'::regprocedure), '\\m${from}', '${to}'); end $do$`;
}

/** Makes the next read of the shared result, every 50 ms, a check: the result is valid for six reads. */
const EXPIRE = "update rowhouse.isolation_checks set checked_at = 'epoch'";

describe("a service does not serve, and does not start, with", () => {
  test.each(BREAKS)("$name", async ({ attack, repair, issue }) => {
    const { admin } = service.service;
    await admin.message(byHand(attack, EXPIRE));
    try {
      await untilReady(503);
      // One of several processes detects the issue first, and the other processes read its result.
      await eventually(async () => (await listTodos()).status === 503);
      const list = await listTodos();
      expect(list.text).not.toContain("todos");
      const error = await warmAnother().then(
        () => undefined,
        (rejection: unknown) => rejection,
      );
      if (!(error instanceof IsolationError)) throw new Error("The service starts");
      expect(error.message).toContain(issue);
      // Each check compares the functions' bodies. All processes share the results of the other checks.
      await eventually(() => service.log.some((line) => line.includes(issue)));
    } finally {
      await admin.message(byHand(repair, EXPIRE));
    }
    await untilReady(200);
    await eventually(async () => (await listTodos()).status === 200);
    const lastLine = service.log.filter((line) => line.includes('"event":"isolation')).at(-1);
    expect(lastLine).toContain('"event":"isolation holds again"');
  });
});

const listTodos = () => service.call(app, "/v1/data/db/todos");

async function untilReady(status: number): Promise<void> {
  await eventually(async () => (await service.call(undefined, "/ready")).status === status);
}

async function warmAnother(): Promise<void> {
  const another = openService({
    databaseUrl: service.database.servingUrl,
    adminDatabaseUrl: service.database.adminUrl,
    connections: 1,
    prepare: true,
    keyPrefix: "rh",
    identitySecrets: [TEST_IDENTITY_SECRET],
    log: () => undefined,
  });
  try {
    await another.warm();
  } catch (error) {
    expect(error).toBeInstanceOf(IsolationError);
    throw error;
  } finally {
    await another.close();
  }
}

test.each([
  { release: "another", event: "functions of another release" },
  // The state after a killed `rowhouse migrate`.
  { release: null, event: "functions of no release" },
])("the service logs $event and serves them", async ({ release, event }) => {
  await using opened = await openTestService({ service: { checkIntervalMs: 50 } });
  const user = await opened.makeApp(schema);
  await opened.service.admin.message(swapBody("begin", "begin perform 1;"));
  await eventually(async () => (await opened.call(undefined, "/ready")).status === 503);
  await recordRelease(opened.service.admin, release);
  await eventually(async () => (await opened.call(undefined, "/ready")).status === 200);
  expect((await opened.call(user, "/v1/data/db/todos")).status).toBe(200);
  await eventually(() => opened.log.some((line) => line.includes(`"event":"${event}"`)));
});

test("a draining service is alive but not ready", async () => {
  await using drained = await openTestService();
  drained.service.drain();
  const [live, ready] = await Promise.all([
    drained.call(undefined, "/live"),
    drained.call(undefined, "/ready"),
  ]);
  expect([live.status, ready.status]).toEqual([200, 503]);
});

test.each([
  ["another process's new result", "now()"],
  ["a future result after the clock was set back", "now() + interval '1 hour'"],
])("a process checks at its start, and does not use %s", async (_, checkedAt) => {
  await using opened = await openTestService({ service: UNGUARDED });
  await opened.service.admin.message(
    `update rowhouse.isolation_checks set checked_at = ${checkedAt}; ${PLANT}; select 1`,
  );
  const guard = makeGuard({ db: opened.service.db, log: () => undefined, now: () => 0 });
  try {
    const { issues } = await guard.read();
    expect(issues.join()).toContain("data.planted");
  } finally {
    guard.stop();
  }
});

describe("a check that fails without an outage", () => {
  test("is logged by the watch and by the port for operators", async () => {
    await using opened = await openTestService();
    await opened.service.admin.message(
      `alter table rowhouse.versions rename to versions_gone;
        alter table rowhouse.service_migrations rename checksum to checksum_gone; select 1`,
    );
    await eventually(() => opened.log.some((line) => line.includes("the check of versions")));
    const response = await opened.service.adminFetch(new Request("http://localhost/ready"));
    expect(response.status).toBe(500);
    expect(opened.log.filter((line) => line.includes("an operator's request"))).toEqual([
      JSON.stringify({
        level: "error",
        event: "bug",
        during: "an operator's request",
        error: "PostgresError",
        code: "42703",
      }),
    ]);
  });

  test("invalidates an old result: isolation is unknown", async () => {
    const opened = await openTestService();
    const lines: string[] = [];
    let now = 0;
    const guard = makeGuard({
      db: opened.service.db,
      log: (level, event, fields) => lines.push(JSON.stringify({ level, event, ...fields })),
      now: () => now,
    });
    const rights = (verb: string) =>
      opened.service.admin.message(
        `${verb} select on pg_catalog.pg_policy ${verb === "grant" ? "to" : "from"} public; select 1`,
      );
    try {
      await guard.read();
      await rights("revoke");
      await expect(guard.read()).rejects.toThrow();
      now = MAX_AGE_MS;
      await guard.check();
      now = MAX_AGE_MS + 1;
      const rejected = await Promise.resolve(guard.check()).catch((error: unknown) => error);
      expect(rejected).toMatchObject({ code: "unavailable", headers: { "retry-after": "60" } });
      await rights("grant");
      await guard.check();
    } finally {
      guard.stop();
      await opened.close();
    }
  });
});

test("a database that lacks a migration of the service is not ready, and gets 503 with the reason", async () => {
  await using opened = await openTestService();
  await opened.service.admin.message(
    `delete from rowhouse.service_migrations
        where number = (select max(number) from rowhouse.service_migrations); select 1`,
  );
  const faces = [
    await opened.call(undefined, "/ready"),
    await opened.service
      .adminFetch(new Request("http://localhost/ready"))
      .then(async (response) => ({ status: response.status, json: await response.json() })),
  ];
  for (const { status, json } of faces) {
    expect(status).toBe(503);
    expect(json).toMatchObject({
      error: "unavailable",
      message: expect.stringContaining("rowhouse migrate"),
    });
  }
  expect((await opened.call(undefined, "/live")).status).toBe(200);
});
