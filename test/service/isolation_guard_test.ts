import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { recordRelease } from "../../src/push/mod.ts";
import { MAX_AGE_MS, makeGuard } from "../../src/service/isolation_guard.ts";
import { IsolationError, openService } from "../../src/service/open.ts";
import { byHand } from "../support/citus.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { functionOf, signatureOf } from "../support/functions.ts";
import { openTestService, type TestApp, type TestService, UNGUARDED } from "../support/service.ts";
import { casesHere } from "../support/skip.ts";

let service: TestService;
let app: TestApp;
beforeAll(async () => {
  service = await openTestService({ service: { checkIntervalMs: 50 } });
  app = await service.makeApp(schema);
});
afterAll(() => service.close());

const GET = functionOf(schema, "todos", "get");
const GET_SIGNATURE = signatureOf(schema, "todos", "get");

type Break = {
  name: string;
  hurt: string | string[];
  mend: string;
  says: string;
  /** Citus does not do that to a distributed table: test/citus/isolation_citus.ts does it to one shard. */
  isOnePostgres?: boolean;
};

const PLANT =
  "create function data.planted(value text) returns text language sql immutable as 'select value'";
const PULL = "drop function data.planted(text)";

/** Each breaks the isolation in one place, and says how it is mended. */
const BREAKS: readonly Break[] = [
  {
    name: "disabled row security",
    hurt: "alter table data.todos disable row level security",
    mend: "alter table data.todos enable row level security",
    says: "Table data.todos must have row security enabled and forced",
  },
  {
    name: "unforced row security",
    hurt: "alter table data.todos no force row level security",
    mend: "alter table data.todos force row level security",
    says: "Table data.todos must have row security enabled and forced",
  },
  {
    name: "a second policy",
    hurt: "create policy all_of_it on data.todos for select to public using (true)",
    mend: "drop policy all_of_it on data.todos",
    says: "Table data.todos must have only the tenant policy",
  },
  {
    name: "another policy under the same name",
    hurt: "alter policy tenant on data.todos using (true)",
    mend: `alter policy tenant on data.todos using
      (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid)`,
    says: "Table data.todos must have only the tenant policy",
  },
  {
    name: "a policy over another column",
    hurt: `alter policy tenant on data.todos using
      (id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid)`,
    mend: `alter policy tenant on data.todos using
      (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid)`,
    says: "Table data.todos must have only the tenant policy",
  },
  {
    name: "proofs of keys without row security",
    hurt: "alter table rowhouse.proofs no force row level security",
    mend: "alter table rowhouse.proofs force row level security",
    says: "Table rowhouse.proofs must have row security enabled and forced",
  },
  {
    name: "proofs of keys granted to the service",
    hurt: "grant select on rowhouse.proofs to rowhouse_service",
    mend: "revoke select on rowhouse.proofs from rowhouse_service",
    says: "Relation rowhouse.proofs must be granted only to rowhouse_tenant, and only for rows",
  },
  {
    name: "a foreign trigger on apps' rows",
    hurt: "create trigger spy before delete on data.todos for each row execute function pg_catalog.suppress_redundant_updates_trigger()",
    mend: "drop trigger spy on data.todos",
    says: "Table data.todos must have no triggers and no rules",
    isOnePostgres: true,
  },
  {
    name: "a foreign rule on apps' rows",
    hurt: "create rule spy as on delete to data.todos do also nothing",
    mend: "drop rule spy on data.todos",
    says: "Table data.todos must have no triggers and no rules",
  },
  {
    name: "rows granted to public",
    hurt: "grant select on data.todos to public",
    mend: "revoke select on data.todos from public",
    says: "Relation data.todos must be granted only to rowhouse_tenant, and only for rows",
  },
  {
    name: "a view of the rows granted to the service",
    hurt: [
      "create view data.peek as select * from data.todos",
      "grant select on data.peek to rowhouse_service",
    ],
    mend: "drop view data.peek",
    says: "Relation data.peek must be granted only to rowhouse_tenant, and only for rows",
  },
  {
    name: "a function that runs with its caller's rights",
    hurt: `alter function api.${GET_SIGNATURE} security invoker`,
    mend: `alter function api.${GET_SIGNATURE} security definer`,
    says: `Function api.${GET} must belong to rowhouse_tenant and be a security definer`,
  },
  {
    name: "a function that belongs to the owner of the tables",
    hurt: `alter function api.${GET_SIGNATURE} owner to rowhouse_tables`,
    mend: `alter function api.${GET_SIGNATURE} owner to rowhouse_tenant`,
    says: `Function api.${GET} must belong to rowhouse_tenant and be a security definer`,
  },
  {
    name: "a function granted to public",
    hurt: `grant execute on function api.${GET_SIGNATURE} to public`,
    mend: `revoke execute on function api.${GET_SIGNATURE} from public`,
    says: `Function api.${GET} must be granted to the serving roles only`,
  },
  {
    name: "an app's table that belongs to the owner of the service's tables",
    hurt: "alter table data.todos owner to rowhouse_owner",
    mend: "alter table data.todos owner to rowhouse_tables",
    says: "Table data.todos must belong to rowhouse_tables",
  },
  {
    name: "a table of the service that belongs to the owner of apps' tables",
    hurt: "alter table rowhouse.sessions owner to rowhouse_tables",
    mend: "alter table rowhouse.sessions owner to rowhouse_owner",
    says: "Role rowhouse_tables must own only apps' tables, not rowhouse.sessions",
  },
  {
    name: "a table that belongs to the functions' owner",
    hurt: ["create table public.mine ()", "alter table public.mine owner to rowhouse_tenant"],
    mend: "drop table public.mine",
    says: "Role rowhouse_tenant must own no table",
  },
  {
    name: "a column with its own grant",
    hurt: "grant select (title) on data.todos to rowhouse_identity",
    mend: "revoke select (title) on data.todos from rowhouse_identity",
    says: "Column title of data.todos must not have its own grants",
  },
  {
    name: "a function among apps' tables",
    hurt: PLANT,
    mend: PULL,
    says: "function data.planted(text) must not be in the schemas of apps' tables and functions",
  },
  {
    name: "an operator",
    hurt: [PLANT, "create operator data.=== (rightarg = text, function = data.planted)"],
    mend: "drop function data.planted(text) cascade",
    says: "operator data.===(NONE,text) must not be in the schemas of apps' tables and functions",
  },
  {
    name: "a cast",
    hurt: [
      "create type data.planted_kind as enum ('a')",
      "create cast (data.planted_kind as pg_catalog.jsonb) with inout",
    ],
    mend: "drop type data.planted_kind cascade",
    says: "Cast from data.planted_kind to jsonb must not exist",
  },
  {
    name: "a domain",
    hurt: "create domain api.planted as text check (value <> 'x')",
    mend: "drop domain api.planted",
    says: "type api.planted must not be in the schemas of apps' tables and functions",
  },
  {
    name: "an enum without a column",
    hurt: "create type data.planted_kind as enum ('a')",
    mend: "drop type data.planted_kind",
    says: "type data.planted_kind must not be in the schemas of apps' tables and functions",
  },
  {
    name: "a composite type",
    hurt: "create type data.planted as (part text)",
    mend: "drop type data.planted",
    says: "type data.planted must not be in the schemas of apps' tables and functions",
  },
  {
    name: "a sequence",
    hurt: "create sequence data.planted",
    mend: "drop sequence data.planted",
    says: "sequence data.planted must not be in the schemas of apps' tables and functions",
  },
  {
    name: "a table among the functions",
    hurt: "create table api.planted (part text)",
    mend: "drop table api.planted",
    says: "table api.planted must not be in the schemas of apps' tables and functions",
  },
  {
    name: "a check constraint on rows",
    hurt: "alter table data.todos add constraint planted check (pg_catalog.set_config('rowhouse.planted', 'x', false) is not null) not valid",
    mend: "alter table data.todos drop constraint planted",
    says: "Constraint planted of data.todos must be a constraint that a push creates",
  },
  {
    name: "an exclusion constraint",
    hurt: "alter table data.todos add constraint planted exclude using btree (app_id with =, id with =)",
    mend: "alter table data.todos drop constraint planted",
    says: "Constraint planted of data.todos must be a constraint that a push creates",
  },
  {
    name: "a deferred constraint",
    hurt: "alter table data.todos add constraint planted foreign key (app_id, id) references data.todos (app_id, id) deferrable initially deferred",
    mend: "alter table data.todos drop constraint planted",
    says: "Constraint planted of data.todos must be a constraint that a push creates",
  },
  {
    name: "an index on an expression",
    hurt: "create index planted on data.todos (app_id, (pg_catalog.lower(title)))",
    mend: "drop index data.planted",
    says: "Index data.planted must contain only expressions that a push indexes",
  },
  {
    name: "a partial index",
    hurt: "create index planted on data.todos (app_id) where pg_catalog.length(title) > 3",
    mend: "drop index data.planted",
    says: "Index data.planted must contain only expressions that a push indexes",
  },
  {
    name: "statistics on an expression",
    hurt: "create statistics data.planted on (pg_catalog.lower(title)), id from data.todos",
    mend: "drop statistics data.planted",
    says: "Statistics planted of data.todos must have no expression",
  },
  {
    name: "a generated column",
    hurt: "alter table data.todos add column planted text generated always as (pg_catalog.lower(title)) stored",
    mend: "alter table data.todos drop column planted",
    says: "Column planted of data.todos must have only a default that a push sets",
  },
  {
    name: "a default that calls a function",
    hurt: "alter table data.todos alter column title set default pg_catalog.set_config('rowhouse.planted', 'x', false)",
    mend: "alter table data.todos alter column title drop default",
    says: "Column title of data.todos must have only a default that a push sets",
  },
  {
    name: "a function with settings",
    hurt: `alter function api.${GET_SIGNATURE} set search_path = data`,
    mend: `alter function api.${GET_SIGNATURE} reset search_path`,
    says: `Function api.${GET} must match the definition that a push creates`,
  },
  {
    name: "a function that can be called during planning",
    hurt: `alter function api.${GET_SIGNATURE} immutable`,
    mend: `alter function api.${GET_SIGNATURE} volatile`,
    says: `Function api.${GET} must match the definition that a push creates`,
  },
  {
    name: "a function with another body",
    hurt: swapBody("begin", "begin perform 1;"),
    mend: swapBody("begin perform 1;", "begin"),
    says: `Function api.${GET_SIGNATURE.replaceAll("pg_catalog.", "").replace("int4", "integer")} must have the body that this release generates`,
  },
  {
    name: "a function with columns that no push can have recorded",
    hurt: `insert into rowhouse.column_sets (app_id, table_name, hash, definition)
      select app_id, table_name, '0000000000000000', '{"name":"todos","columns":[{"name":"x","kind":"planted"}]}'
        from rowhouse.column_sets where table_name = 'todos' limit 1;
      create function api.todos__0000000000000000_get() returns text language plpgsql security definer as 'begin return null; end';
      alter function api.todos__0000000000000000_get() owner to rowhouse_tenant;
      revoke execute on function api.todos__0000000000000000_get() from public`,
    mend: `drop function api.todos__0000000000000000_get();
      delete from rowhouse.column_sets where hash = '0000000000000000'`,
    says: "Function api.todos__0000000000000000_get() must have the body that this release generates",
  },
  {
    name: "a function that no push recorded",
    hurt: `create function api.planted() returns text language plpgsql security definer as 'begin return null; end';
      alter function api.planted() owner to rowhouse_tenant;
      revoke execute on function api.planted() from public`,
    mend: "drop function api.planted()",
    says: "Function api.planted must be one that a push recorded",
  },
];

/** Replaces the first words of the body of a function. */
function swapBody(from: string, to: string): string {
  return `do $do$ begin execute regexp_replace(
    pg_get_functiondef('api.${GET_SIGNATURE}'::regprocedure), '\\m${from}', '${to}'); end $do$`;
}

describe("a service does not serve, and does not start, with", () => {
  test.each(casesHere(BREAKS))("$name", async ({ hurt, mend, says }) => {
    await service.service.admin.message(byHand(...[hurt].flat()));
    try {
      await untilReady(503);
      // Of several processes one finds it first, and the others read its result.
      await eventually(async () => (await listTodos()).status === 503);
      const list = await listTodos();
      expect(list.text).not.toContain("todos");
      // A body is compared at every look, the rest once for all processes.
      await eventually(() => service.log.some((line) => line.includes(says)));
      await expect(warmAnother()).rejects.toThrow(says);
    } finally {
      await service.service.admin.message(byHand(mend));
    }
    await untilReady(200);
    await eventually(async () => (await listTodos()).status === 200);
    const told = service.log.filter((line) => line.includes('"event":"isolation')).at(-1);
    expect(told).toContain('"event":"isolation holds again"');
  });
});

const listTodos = () => service.call(app, "/v1/data/db/todos");

/** Until the next look at the isolation. */
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
  // As a killed `rowhouse migrate` leaves it.
  { release: null, event: "functions of no release" },
])("the service logs $event and serves them", async ({ release, event }) => {
  const one = await openTestService({ service: { checkIntervalMs: 50 } });
  try {
    const user = await one.makeApp(schema);
    await one.service.admin.message(swapBody("begin", "begin perform 1;"));
    await eventually(async () => (await one.call(undefined, "/ready")).status === 503);
    await recordRelease(one.service.admin, release);
    await eventually(async () => (await one.call(undefined, "/ready")).status === 200);
    expect((await one.call(user, "/v1/data/db/todos")).status).toBe(200);
    await eventually(() => one.log.some((line) => line.includes(`"event":"${event}"`)));
  } finally {
    await one.close();
  }
});

test("a draining service is alive but not ready", async () => {
  const drained = await openTestService();
  try {
    drained.service.drain();
    const [live, ready] = await Promise.all([
      drained.call(undefined, "/live"),
      drained.call(undefined, "/ready"),
    ]);
    expect([live.status, ready.status]).toEqual([200, 503]);
  } finally {
    await drained.close();
  }
});

describe("a check that fails without an outage", () => {
  test("is logged by the watch and by the port for operators", async () => {
    const one = await openTestService();
    try {
      await one.service.admin.message(
        `alter table rowhouse.versions rename to versions_gone;
        alter table rowhouse.service_migrations rename checksum to checksum_gone; select 1`,
      );
      await eventually(() => one.log.some((line) => line.includes("the check of versions")));
      const response = await one.service.adminFetch(new Request("http://localhost/ready"));
      expect(response.status).toBe(500);
      expect(one.log.filter((line) => line.includes("an operator's request"))).toEqual([
        JSON.stringify({
          level: "error",
          event: "bug",
          during: "an operator's request",
          error: "PostgresError",
          code: "42703",
        }),
      ]);
    } finally {
      await one.close();
    }
  });

  test("does not count a future result after the clock was set back", async () => {
    const one = await openTestService({ service: UNGUARDED });
    const guard = makeGuard({ db: one.service.db, log: () => undefined, now: () => 0 });
    try {
      await guard.read();
      await one.service.admin.message(
        `update rowhouse.isolation_checks set checked_at = now() + interval '1 hour'; ${PLANT}; select 1`,
      );
      const { issues } = await guard.read();
      expect(issues.join()).toContain("data.planted");
    } finally {
      guard.stop();
      await one.close();
    }
  });

  test("invalidates an old result: isolation is unknown", async () => {
    const one = await openTestService();
    const lines: string[] = [];
    let now = 0;
    const guard = makeGuard({
      db: one.service.db,
      log: (level, event, fields) => lines.push(JSON.stringify({ level, event, ...fields })),
      now: () => now,
    });
    const rights = (verb: string) =>
      one.service.admin.message(
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
      await one.close();
    }
  });
});

test("a database that lacks a migration of the service is not ready, and gets 503 with the reason", async () => {
  const one = await openTestService();
  try {
    await one.service.admin.message(
      `delete from rowhouse.service_migrations
        where number = (select max(number) from rowhouse.service_migrations); select 1`,
    );
    const faces = [
      await one.call(undefined, "/ready"),
      await one.service
        .adminFetch(new Request("http://localhost/ready"))
        .then(async (response) => ({
          status: response.status,
          json: await response.json(),
        })),
    ];
    for (const { status, json } of faces) {
      expect(status).toBe(503);
      expect(json).toMatchObject({
        error: "unavailable",
        message: expect.stringContaining("rowhouse migrate"),
      });
    }
    expect((await one.call(undefined, "/live")).status).toBe(200);
  } finally {
    await one.close();
  }
});
