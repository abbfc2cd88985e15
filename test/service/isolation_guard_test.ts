import { describe, expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { MAX_AGE_MS, makeGuard } from "../../src/service/isolation_guard.ts";
import { IsolationError, openService } from "../../src/service/open.ts";
import { recordRelease } from "../../src/tables/mod.ts";
import { byHand } from "../support/citus.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { functionOf, signatureOf } from "../support/functions.ts";
import { expectSentences } from "../support/sentences.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";
import { casesHere } from "../support/skip.ts";

const service = await share(openTestService({ service: { checkIntervalMs: 50 } }));
const app = await service.makeApp(schema);

const GET = functionOf(schema, "todos", "get");
const GET_SIGNATURE = signatureOf(schema, "todos", "get");

type Break = {
  name: string;
  attack: string | string[];
  repair: string;
  /** What the guard names. The rule that it breaks is in the snapshot. */
  thing: string;
  /** Citus rejects the statement for a distributed table. test/citus/isolation_citus.ts runs it on a shard. */
  isOnePostgres?: boolean;
};

const PLANT =
  "create function data.planted(value text) returns text language sql immutable as 'select value'";
const PULL = "drop function data.planted(text)";

/** Statements that break the isolation in one way, and statements that repair it. */
const BREAKS: readonly Break[] = [
  {
    name: "disabled row security",
    attack: "alter table data.todos disable row level security",
    repair: "alter table data.todos enable row level security",
    thing: "Table data.todos",
  },
  {
    name: "unforced row security",
    attack: "alter table data.todos no force row level security",
    repair: "alter table data.todos force row level security",
    thing: "Table data.todos",
  },
  {
    name: "a second policy",
    attack: "create policy all_of_it on data.todos for select to public using (true)",
    repair: "drop policy all_of_it on data.todos",
    thing: "Table data.todos",
  },
  {
    name: "another policy under the same name",
    attack: "alter policy tenant on data.todos using (true)",
    repair: `alter policy tenant on data.todos using
      (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid)`,
    thing: "Table data.todos",
  },
  {
    name: "a policy over another column",
    attack: `alter policy tenant on data.todos using
      (id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid)`,
    repair: `alter policy tenant on data.todos using
      (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid)`,
    thing: "Table data.todos",
  },
  {
    name: "proofs of keys without row security",
    attack: "alter table rowhouse.proofs no force row level security",
    repair: "alter table rowhouse.proofs force row level security",
    thing: "Table rowhouse.proofs",
  },
  {
    name: "proofs of keys granted to the service",
    attack: "grant select on rowhouse.proofs to rowhouse_service",
    repair: "revoke select on rowhouse.proofs from rowhouse_service",
    thing: "Relation rowhouse.proofs",
  },
  {
    name: "a foreign trigger on apps' rows",
    attack:
      "create trigger spy before delete on data.todos for each row execute function pg_catalog.suppress_redundant_updates_trigger()",
    repair: "drop trigger spy on data.todos",
    thing: "Table data.todos",
    isOnePostgres: true,
  },
  {
    name: "a foreign rule on apps' rows",
    attack: "create rule spy as on delete to data.todos do also nothing",
    repair: "drop rule spy on data.todos",
    thing: "Table data.todos",
  },
  {
    name: "rows granted to public",
    attack: "grant select on data.todos to public",
    repair: "revoke select on data.todos from public",
    thing: "Relation data.todos",
  },
  {
    name: "a view of the rows granted to the service",
    attack: [
      "create view data.peek as select * from data.todos",
      "grant select on data.peek to rowhouse_service",
    ],
    repair: "drop view data.peek",
    thing: "Relation data.peek",
  },
  {
    name: "a function that runs with its caller's rights",
    attack: `alter function api.${GET_SIGNATURE} security invoker`,
    repair: `alter function api.${GET_SIGNATURE} security definer`,
    thing: `Function api.${GET}`,
  },
  {
    name: "a function that belongs to the owner of the tables",
    attack: `alter function api.${GET_SIGNATURE} owner to rowhouse_tables`,
    repair: `alter function api.${GET_SIGNATURE} owner to rowhouse_tenant`,
    thing: `Function api.${GET}`,
  },
  {
    name: "a function granted to public",
    attack: `grant execute on function api.${GET_SIGNATURE} to public`,
    repair: `revoke execute on function api.${GET_SIGNATURE} from public`,
    thing: `Function api.${GET}`,
  },
  {
    name: "an app's table that belongs to the owner of the service's tables",
    attack: "alter table data.todos owner to rowhouse_owner",
    repair: "alter table data.todos owner to rowhouse_tables",
    thing: "Table data.todos",
  },
  {
    name: "a table of the service that belongs to the owner of apps' tables",
    attack: "alter table rowhouse.sessions owner to rowhouse_tables",
    repair: "alter table rowhouse.sessions owner to rowhouse_owner",
    thing: "Role rowhouse_tables",
  },
  {
    name: "a table that belongs to the functions' owner",
    attack: ["create table public.mine ()", "alter table public.mine owner to rowhouse_tenant"],
    repair: "drop table public.mine",
    thing: "Role rowhouse_tenant",
  },
  {
    name: "a column with its own grant",
    attack: "grant select (title) on data.todos to rowhouse_identity",
    repair: "revoke select (title) on data.todos from rowhouse_identity",
    thing: "Column title of data.todos",
  },
  {
    name: "a function among apps' tables",
    attack: PLANT,
    repair: PULL,
    thing: "function data.planted(text)",
  },
  {
    name: "an operator",
    attack: [PLANT, "create operator data.=== (rightarg = text, function = data.planted)"],
    repair: "drop function data.planted(text) cascade",
    thing: "operator data.===(NONE,text)",
  },
  {
    name: "a cast",
    attack: [
      "create type data.planted_kind as enum ('a')",
      "create cast (data.planted_kind as pg_catalog.jsonb) with inout",
    ],
    repair: "drop type data.planted_kind cascade",
    thing: "Cast from data.planted_kind to jsonb",
  },
  {
    name: "a domain",
    attack: "create domain api.planted as text check (value <> 'x')",
    repair: "drop domain api.planted",
    thing: "type api.planted",
  },
  {
    name: "an enum without a column",
    attack: "create type data.planted_kind as enum ('a')",
    repair: "drop type data.planted_kind",
    thing: "type data.planted_kind",
  },
  {
    name: "a composite type",
    attack: "create type data.planted as (part text)",
    repair: "drop type data.planted",
    thing: "type data.planted",
  },
  {
    name: "a sequence",
    attack: "create sequence data.planted",
    repair: "drop sequence data.planted",
    thing: "sequence data.planted",
  },
  {
    name: "a table among the functions",
    attack: "create table api.planted (part text)",
    repair: "drop table api.planted",
    thing: "table api.planted",
  },
  {
    name: "a check constraint on rows",
    attack:
      "alter table data.todos add constraint planted check (pg_catalog.set_config('rowhouse.planted', 'x', false) is not null) not valid",
    repair: "alter table data.todos drop constraint planted",
    thing: "Constraint planted of data.todos",
  },
  {
    name: "an exclusion constraint",
    attack:
      "alter table data.todos add constraint planted exclude using btree (app_id with =, id with =)",
    repair: "alter table data.todos drop constraint planted",
    thing: "Constraint planted of data.todos",
  },
  {
    name: "a deferred constraint",
    attack:
      "alter table data.todos add constraint planted foreign key (app_id, id) references data.todos (app_id, id) deferrable initially deferred",
    repair: "alter table data.todos drop constraint planted",
    thing: "Constraint planted of data.todos",
  },
  {
    name: "an index on an expression",
    attack: "create index planted on data.todos (app_id, (pg_catalog.lower(title)))",
    repair: "drop index data.planted",
    thing: "Index data.planted",
  },
  {
    name: "a partial index",
    attack: "create index planted on data.todos (app_id) where pg_catalog.length(title) > 3",
    repair: "drop index data.planted",
    thing: "Index data.planted",
  },
  {
    name: "statistics on an expression",
    attack: "create statistics data.planted on (pg_catalog.lower(title)), id from data.todos",
    repair: "drop statistics data.planted",
    thing: "Statistics planted of data.todos",
  },
  {
    name: "a generated column",
    attack:
      "alter table data.todos add column planted text generated always as (pg_catalog.lower(title)) stored",
    repair: "alter table data.todos drop column planted",
    thing: "Column planted of data.todos",
  },
  {
    name: "a default that calls a function",
    attack:
      "alter table data.todos alter column title set default pg_catalog.set_config('rowhouse.planted', 'x', false)",
    repair: "alter table data.todos alter column title drop default",
    thing: "Column title of data.todos",
  },
  {
    name: "a function with settings",
    attack: `alter function api.${GET_SIGNATURE} set search_path = data`,
    repair: `alter function api.${GET_SIGNATURE} reset search_path`,
    thing: `Function api.${GET}`,
  },
  {
    name: "a function that can be called during planning",
    attack: `alter function api.${GET_SIGNATURE} immutable`,
    repair: `alter function api.${GET_SIGNATURE} volatile`,
    thing: `Function api.${GET}`,
  },
  {
    name: "a function with another body",
    attack: swapBody("begin", "begin perform 1;"),
    repair: swapBody("begin perform 1;", "begin"),
    thing: `Function api.${GET_SIGNATURE.replaceAll("pg_catalog.", "").replace("int4", "integer")}`,
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
    thing: "Function api.todos__0000000000000000_get()",
  },
  {
    name: "a function that no push recorded",
    attack: `create function api.planted() returns text language plpgsql security definer as 'begin return null; end';
      alter function api.planted() owner to rowhouse_tenant;
      revoke execute on function api.planted() from public`,
    repair: "drop function api.planted()",
    thing: "Function api.planted",
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
  test.each(casesHere(BREAKS))("$name", async ({ attack, repair, thing }) => {
    const { admin } = service.service;
    await admin.message(byHand(...[attack].flat(), EXPIRE));
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
      const [, rule = ""] =
        new RegExp(`${RegExp.escape(thing)}( must [^;\\n]+)`).exec(error.message) ?? [];
      expectSentences(`${thing}${rule}`, { names: [" must "] });
      // Each check compares the functions' bodies. All processes share the results of the other checks.
      await eventually(() => service.log.some((line) => line.includes(`${thing}${rule}`)));
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

  test("does not count a future result after the clock was set back", async () => {
    const opened = await openTestService({ service: UNGUARDED });
    const guard = makeGuard({ db: opened.service.db, log: () => undefined, now: () => 0 });
    try {
      await guard.read();
      await opened.service.admin.message(
        `update rowhouse.isolation_checks set checked_at = now() + interval '1 hour'; ${PLANT}; select 1`,
      );
      const { issues } = await guard.read();
      expect(issues.join()).toContain("data.planted");
    } finally {
      guard.stop();
      await opened.close();
    }
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
