/** Attempts for the pushing, rows and administrator's logins. The keys are the sentences of docs/security.md. @module */
import { expect } from "bun:test";
import postgres from "postgres";
import { SIGNALS } from "../../../src/db/mod.ts";
import { SESSION_COOKIE } from "../../../src/identity/mod.ts";
import { toProof } from "../../../src/records/apps/mod.ts";
import { askForPassword, claimMails, findMailedLink } from "../../../src/records/mails/mod.ts";
import { findProviderPerson } from "../../../src/records/sessions/mod.ts";
import { writeMigrationText } from "../../../src/tables/history/migration_text.ts";
import { TEST_HASHING, testDeps } from "../../support/deps.ts";
import { functionOf } from "../../support/functions.ts";
import {
  type Jar,
  makePerson,
  sharedCookie,
  signInAs,
  submitSignIn,
} from "../../support/people.ts";
import { swapReadsPeople } from "../../support/planted.ts";
import { openTestService, type TestApp, type TestService } from "../../support/service.ts";
import { plantsNoPasskey } from "./passkeys.ts";
import {
  DEFINITIONS,
  HISTORY,
  KEYS,
  LIST,
  listCall,
  type Page,
  PEOPLE,
  ROWS,
  SCHEMA,
} from "./world.ts";

export const OWNING_LOGINS: Page = {
  "The pushing login": {
    Can: {
      "read and change every row of every app: it owns their tables, and can disable their row security.":
        async (world) => {
          const { rows } = await world.tryAs(
            "push",
            "alter table data.todos disable row level security; select title from data.todos",
          );
          expect(JSON.stringify(rows)).toContain("theirs");
        },
      "read the ids and slugs of apps, the definitions of all tables, and the SQL of all migrations.":
        (world) => world.allows("push", [...DEFINITIONS, "select id, slug from rowhouse.apps"]),
      "create, change and drop apps' tables and functions. A changed function can record the key proofs in its calls.":
        () =>
          inSpareDatabase(async (spare, app) => {
            const name = functionOf(SCHEMA, "todos", "list");
            const push = postgres(spare.database.pushUrl, { max: 1, onnotice: () => undefined });
            await push.unsafe(`create table data.noted (proof bytea); grant insert on data.noted to rowhouse_tenant;
            create or replace function api."${name}"(uuid, bytea, int, int, int, text, int) returns text language plpgsql security definer
            as $$ begin insert into data.noted values ($2); return repeat('0', 32) || '{}'; end $$`);
            const response = await spare.call(app, LIST);
            const [row] = await push.unsafe("select encode(proof, 'hex') as proof from data.noted");
            await push.unsafe("drop table data.noted");
            await push.end();
            expect(response.status).toBe(200);
            expect(row?.["proof"]).toBe(
              Buffer.from(toProof(app.key.slice(app.key.indexOf(".") + 1))).toString("hex"),
            );
          }),
      "record a push in the name of any app.": async (world) =>
        expect(
          (await world.tryAs("push", recordCall({ app: await world.service.makeApp() }))).code,
        ).toBe(""),
      "record a change in the history of rows, in any name.": (world) =>
        world.allows("push", [
          `select set_config('rowhouse.app_id', '${world.mine.id}', true); insert into rowhouse.row_changes
            (app_id, table_name, row_id, changed_by, before, bytes)
            values ('${world.mine.id}', 'todos', gen_random_uuid(), 'key 00', '{}', 1)`,
        ]),
      "leave a trigger on a table that runs with the rights of any role that writes a row by hand.":
        () =>
          inSpareDatabase(async (spare) => {
            const push = postgres(spare.database.pushUrl, { max: 1, onnotice: () => undefined });
            await push.unsafe(`create function api.left_behind() returns trigger language plpgsql
            as $$ begin perform set_config('left.user', current_user, false); return null; end $$;
            create trigger left_behind after insert on data.todos for each statement execute function api.left_behind()`);
            await push.end();
            const [row] = await spare.service.admin.message<{ ran: string; user: string }>(`
            insert into data.todos (app_id, id, title) values (gen_random_uuid(), gen_random_uuid(), 'x');
            select current_setting('left.user') as ran, current_user as user`);
            expect(row?.ran).toBe(String(row?.user));
          }),
      "run code in the sessions that serve, push or delete rows. Without `IDENTITY_DATABASE_URL`, these sessions also serve people, and this login is as powerful as the serving login.":
        async () => expect(await swapReadsPeople("one")).toBe(true),
    },
    Cannot: {
      "run code in the sessions of a separate identity login, such as the login of `IDENTITY_DATABASE_URL`.":
        async () => {
          expect(await swapReadsPeople("logins")).toBe(false);
          expect(await swapReadsPeople("split")).toBe(false);
        },
      "store a result of the isolation check, or the release that it compares with.": (world) =>
        world.rejects("push", [
          "update rowhouse.isolation_checks set issues = '[]'",
          "insert into rowhouse.isolation_checks default values",
          "update rowhouse.release set name = null",
          "insert into rowhouse.verified_sets values ('planted')",
          "update rowhouse.body_digests set digest = 'planted'",
        ]),
      "read a person, a password's hash, a session, a link or the audit log.": (world) =>
        world.rejects("push", [
          ...PEOPLE,
          "select password_hash from rowhouse.users",
          "select * from rowhouse.password_links",
          "select * from rowhouse.audit",
          "select rowhouse.begin_sign_in('x', array['x'], 'x', null, 'x', 1, array[1], 1, 1)",
        ]),
      "read the history of rows, or change or delete what it has recorded.": (world) =>
        world.rejects("push", HISTORY),
      "create, read or revoke a key: it reads only digests of proofs.": async (world) => {
        await world.rejects(
          "push",
          KEYS.filter((text) => !text.startsWith("select * from rowhouse.proofs")),
        );
        const { rows } = await world.tryAs(
          "push",
          `select set_config('rowhouse.app_id', '${world.mine.id}', true);
          select encode(digest, 'hex') as digest from rowhouse.proofs`,
        );
        for (const digest of readDigests(rows))
          await world.rejects(
            "data",
            [listCall(world.mine, `decode('${digest}', 'hex')`)],
            SIGNALS.keyRejected,
          );
      },
      "record a push that is not an app's next migration, or give a table to another app.": async (
        world,
      ) => {
        const app = await world.service.makeApp();
        expect((await world.tryAs("push", recordCall({ app, seq: 7 }))).code).toBe(
          SIGNALS.catalogMoved,
        );
        expect((await world.tryAs("push", recordCall({ app, tables: ["todos"] }))).code).toBe(
          SIGNALS.notItsPush,
        );
        await world.rejects("push", [
          "update rowhouse.tables set owner_app_id = gen_random_uuid()",
          "select rowhouse.transfer_table('todos', 'x', 'me')",
        ]);
      },
      "change or delete a recorded migration.": (world) =>
        world.rejects("push", [
          "update rowhouse.migrations set sql = ''",
          "delete from rowhouse.migrations",
          "truncate rowhouse.migrations",
        ]),
    },
  },
  "The rows login": {
    Can: {
      "count, read, restore and delete every app's rows, and use all rights of the pushing login.":
        (world) =>
          world.allows("rows", [
            `select rowhouse.count_rows('todos', '${world.other.id}')`,
            `select rowhouse.read_rows('todos', '{}', '${world.other.id}', gen_random_uuid(), 1, 1)`,
            `select rowhouse.delete_rows(array['todos'], '${world.other.id}')`,
            ...DEFINITIONS,
          ]),
    },
    Cannot: {
      "read a person, a password's hash, a session, a link or the audit log.": (world) =>
        world.rejects("rows", [...PEOPLE, "select * from rowhouse.audit"]),
      "begin to delete an app's rows in an administrator's name.": (world) =>
        world.rejects("rows", [
          "insert into rowhouse.row_jobs (app_id, tables, kind, actor, counts) values (gen_random_uuid(), '{}', 'delete_app', 'me', '{}')",
          "select rowhouse.begin_end_registration('x', 'todos', null, 'me')",
          "select * from rowhouse.delete_app_step('x', 'me')",
        ]),
    },
  },
  "The administrator's login": {
    Can: {
      "read and change everything in the database, create keys for every app, and grant itself any role.":
        (world) =>
          world.allows("admin", [
            ...ROWS,
            ...DEFINITIONS,
            ...PEOPLE,
            "select password_hash from rowhouse.users",
            `select rowhouse.issue_key('${world.other.slug}', 'kkkkkkkkkkkkkkkk', 'n', sha256('x'), array['data:read'], null, 'me')`,
            "update rowhouse.users set console_role = 'super_admin'",
          ]),
    },
    Cannot: {
      "create a session, a link or a password that the service accepts, without `IDENTITY_SECRET`.":
        () =>
          inSpareDatabase(async (spare) => {
            const person = await makePerson(spare);
            const own: Jar = await signInAs(spare, await makePerson(spare));
            const secret = "ab".repeat(16);
            const hash = await TEST_HASHING.make("a new password of mine");
            await spare.service.admin.message(`
            update rowhouse.sessions set user_id = '${person.id}';
            insert into rowhouse.sessions (id, session_digest, identity_digest, secret_id, user_id, expires_at) select 'aaaaaaaaaaaaaaaa',
              sha256(convert_to('${secret}', 'UTF8') || uuid_send(id)), sha256('i'), password_secret_id, id, now() + interval '1 hour'
              from rowhouse.users where id = '${person.id}';
            update rowhouse.users set password_hash = '${hash}' where id = '${person.id}'; select 1`);
            for (const cookie of [
              sharedCookie(own),
              `${SESSION_COOKIE}=aaaaaaaaaaaaaaaa.${secret}`,
            ])
              expect(
                (await spare.call(undefined, "/v1/auth/me", { headers: { cookie } })).status,
              ).toBe(401);
            const { status } = await submitSignIn(spare, new Map(), {
              email: person.email,
              password: "a new password of mine",
            });
            expect(status).toBe(422);
          }),
      "create a passkey that the service accepts, or change the owner of one, without `IDENTITY_SECRET`.":
        plantsNoPasskey,
      "have a link mailed to a changed address, or have a person linked at a provider by a changed address, without `IDENTITY_SECRET`.":
        () =>
          inSpareDatabase(async (spare) => {
            const { admin, db } = spare.service;
            const [person, own] = [await makePerson(spare), await makePerson(spare)];
            const deps = { ...testDeps({ admin }), db };
            const mailed = async (email: string) => {
              await askForPassword(deps, { email, address: "::1" });
              const [mail] = await claimMails(deps, { maxRows: 1, leaseS: 0, retryS: 0 });
              return mail && (await findMailedLink(deps, mail));
            };
            expect(await mailed(person.email)).toBeString();
            await admin.message(`
            update rowhouse.users as users set email = 'changed@example.org', email_digest = own.email_digest
            from rowhouse.users as own where users.id = '${person.id}' and own.id = '${own.id}'; select 1`);
            expect(await mailed("changed@example.org")).toBeUndefined();
            await admin.message(`
            update rowhouse.users set password_hash = null, password_digest = null, password_secret_id = null;
            insert into rowhouse.password_links (user_id, id, digest, secret_id, expires_at)
            values ('${person.id}', 'aaaaaaaaaaaaaaaa', sha256('x'), 'x', now() + interval '1 hour')
            on conflict (user_id) do nothing; select 1`);
            const found = await findProviderPerson(
              deps,
              { issuer: "https://x", subject: "s" },
              "changed@example.org",
            );
            expect(found).toEqual({ kind: "unlinked", invited: undefined, isEmailInUse: true });
          }),
    },
  },
};

/** Runs attempts that leave traces in a temporary database. */
async function inSpareDatabase(
  use: (spare: TestService, app: TestApp) => Promise<void>,
): Promise<void> {
  await using spare = await openTestService({ shape: "one" });
  await use(spare, await spare.makeApp(SCHEMA));
}

function recordCall({
  app,
  seq = 1,
  tables = [],
}: {
  app: TestApp;
  seq?: number;
  tables?: string[];
}): string {
  const head = { seq, name: "nothing", parent: "", sql: "" };
  const definition = { version: 1, tables: [] } as const;
  const migration = JSON.stringify({
    ...head,
    ...writeMigrationText({ ...head, steps: [], definition }),
  });
  const definitions = JSON.stringify(
    tables.map((name) => ({ name, columns: [], indexes: [], uniques: [] })),
  );
  return `select rowhouse.record_push('${app.id}', '${migration}', '${definitions}', '[]', '[]')`;
}

/** Returns the digests in the response to several statements, a list of lists. */
function readDigests(rows: unknown): string[] {
  return JSON.stringify(rows).match(/[0-9a-f]{64}/g) ?? [];
}
