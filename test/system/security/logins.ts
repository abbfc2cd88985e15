/** Attempts for the logins of serving processes. The keys are the sentences of docs/security.md. @module */
import { expect } from "bun:test";
import { createHash } from "node:crypto";
import postgres from "postgres";
import { makeCursors } from "../../../src/data/live/cursors.ts";
import { readRows, SIGNALS } from "../../../src/db/mod.ts";
import { SESSION_COOKIE } from "../../../src/identity/mod.ts";
import { revokeKey } from "../../../src/records/apps/mod.ts";
import {
  changeEmail,
  confirmAddresses,
  createUser,
  giveConsoleRole,
  makePasswordLink,
  readAddresses,
  runOnPerson,
  showUser,
} from "../../../src/records/people/mod.ts";
import { type StoredGrant, toGrantedRole } from "../../../src/records/people/roles.ts";
import { proveSignIn, toPresented } from "../../../src/records/secrets/mod.ts";
import { findProviderPerson } from "../../../src/records/sessions/mod.ts";
import { unsealText } from "../../../src/std/seal.ts";
import { withDatabase } from "../../support/cluster.ts";
import { IDENTITY_SECRETS, testDeps } from "../../support/deps.ts";
import { functionOf } from "../../support/functions.ts";
import { makeHolder } from "../../support/passkeys.ts";
import { visit } from "../../support/people.ts";
import { proofOf } from "../../support/proof.ts";
import { consoleCalls } from "./console.ts";
import { keepsFactors } from "./factors.ts";
import { getsNoPersonKey, readsNoCaller } from "./person_keys.ts";
import { sweepsOnlyWhatIsDue } from "./sweeps.ts";
import {
  DEFINITIONS,
  digestOf,
  finishCall,
  hashOf,
  KEYS,
  type Login,
  listCall,
  makeKey,
  me,
  type Page,
  PEOPLE,
  ROWS,
  SCHEMA,
  SERVING,
  type World,
} from "./world.ts";

/** A value as long as a proof, which matches no key. */
const UNKNOWN_PROOF = "pg_catalog.decode(repeat('07', 32), 'hex')";

export const SERVING_LOGINS: Page = {
  "Any login of the database": {
    Can: {
      "interrupt its users: change its own password and settings, and end its own connections.":
        async (world) => {
          for (const login of [...SERVING, "push"] as const)
            await world.allows(login, [
              "alter role current_user password 'another'",
              "alter role current_user set default_transaction_read_only = on",
              "select pg_terminate_backend(pid) from pg_stat_activity where usename = current_user and pid <> pg_backend_pid() and application_name = 'none'",
            ]);
        },
      "estimate from PostgreSQL's statistics how many rows a table has, of all apps together.":
        async (world) => {
          for (const login of [...SERVING, "push"] as const)
            await world.allows(login, [
              "select reltuples from pg_catalog.pg_class where relname = 'todos'",
            ]);
        },
    },
    Cannot: {
      "become another role, or create one.": async (world) => {
        for (const login of [...SERVING, "push"] as const)
          await world.rejects(login, [
            "set local role rowhouse_owner",
            "set local role postgres",
            "grant rowhouse_owner to current_user",
            "alter role current_user superuser",
            "create role mine login",
          ]);
        for (const login of SERVING)
          await world.rejects(login, [
            "set local role rowhouse_tables",
            "set local role rowhouse_tenant",
          ]);
      },
      "create a schema, a temporary table, or anything in the schemas `public` and `rowhouse`.":
        async (world) => {
          for (const login of [...SERVING, "push"] as const)
            await world.rejects(login, [
              "create schema mine",
              "create temporary table mine (id int)",
              "create table public.mine (id int)",
              "create table rowhouse.mine (id int)",
              "create function rowhouse.mine() returns int language sql as 'select 1'",
            ]);
        },
      "lift its limit of temporary files. Once a superuser has run `deploy/superuser.sql`, it cannot create a large object or acquire an advisory lock; the pushing login acquires locks.":
        async (world) => {
          for (const login of SERVING)
            await world.rejects(login, [
              "select pg_advisory_lock(1)",
              "select pg_advisory_xact_lock_shared(1, 2)",
              "select pg_try_advisory_lock(1)",
            ]);
          for (const login of [...SERVING, "push"] as const)
            await world.rejects(login, [
              "select lo_create(0)",
              "select lo_creat(-1)",
              "select lo_from_bytea(0, 'x')",
              "select lo_put(1, 0, 'x')",
              "set local temp_file_limit = -1",
            ]);
          await world.allows("push", ["select pg_try_advisory_xact_lock(1)"]);
        },
      "read a file of the server, or run a program there.": async (world) => {
        for (const login of [...SERVING, "push"] as const)
          await world.rejects(login, [
            "select pg_read_file('/etc/passwd')",
            "copy (select 1) to program 'true'",
            "copy (select 1) to '/tmp/mine'",
            "select lo_import('/etc/passwd')",
            "create extension file_fdw",
          ]);
      },
    },
  },
  "Any serving login": {
    Can: {
      "add invented requests to the Console's statistics, but not read the statistics.": async (
        world,
      ) => {
        for (const login of SERVING) await addsStatistics(world, login);
      },
    },
    Cannot: {
      "push, or change a table or a function of an app.": async (world) => {
        for (const login of SERVING)
          await world.rejects(login, [
            "select rowhouse.record_push(gen_random_uuid(), '{}', '[]', '[]', '[]')",
            "update rowhouse.tables set definition = '{}'",
            "alter table data.todos add column x int",
            "alter table data.todos disable row level security",
            "create table data.mine (id int)",
            "create function api.mine() returns int language sql as 'select 1'",
            `alter function api."${functionOf(SCHEMA, "todos", "list")}" security invoker`,
          ]);
      },
      "plant a shell command or a control character in the texts that the Console shows of a request.":
        plantsNoCommand,
      "delete the history of rows, audit entries, statistics, nonces, counts or stored responses before their time.":
        sweepsOnlyWhatIsDue,
    },
  },
  "The serving login of one process": {
    Can: {
      "read addresses, names and roles of people, slugs and origins of apps, and the definitions of tables.":
        (world) =>
          world.allows("all", [
            "select email, display_name, console_role from rowhouse.users",
            "select role from rowhouse.grants",
            "select slug from rowhouse.apps",
            "select origin from rowhouse.targets",
            ...DEFINITIONS,
          ]),
      "read the digests of sessions and links, the IP address and browser of each session, and the hash of a person's password, given the person's address.":
        (world) => reachesPeople(world, "all"),
      "add any number of invented rejected sign-ins and wrong codes to the audit log.": (world) =>
        reachesPeople(world, "all"),
      "read who has a second factor.": (world) =>
        world.allows("all", [`select rowhouse.has_second_factor('${world.victim.id}')`]),
      "read the owner and the public key of a passkey by its id.": async (world) => {
        const { person, authenticator } = await makeHolder(world.service);
        const id = `decode('${toHex(authenticator.credentialId)}', 'hex')`;
        const { rows } = await world.tryAs("all", `select * from ${beginPasskey(id)}`);
        expect(rows).toEqual([expect.objectContaining({ user_id: person.id })]);
      },
      "decrypt a cursor of live updates that it has: transaction ids, which count the writes of all apps, and no row.":
        (world) => decryptsCursors(world, "all"),
      "count invented sign-in attempts, so that people have to wait, for max 30 days.": async (
        world,
      ) => {
        await reachesPeople(world, "all");
        await countsForDays(world, "all");
      },
      "create any number of people without a role. The service does not accept their links to providers.":
        (world) => plantsLinks(world, "all"),
      "mail password links to people, max five per hour, and lose queued mails.": (world) =>
        world.allows("all", [
          `select rowhouse.ask_for_password('${world.victim.email}', array['x'], array[10, 10], 900, '', null, null)`,
          "select rowhouse.claim_mails(10, 60, 60)",
          "select rowhouse.settle_mail(1, 'void')",
        ]),
      "use up the limits of an app, a key or an address that it can name, but not raise them.": (
        world,
      ) => usesUpLimits(world, "all"),
    },
    Cannot: {
      "act for an administrator, though it sees the cookies.": (world) =>
        world.rejects("all", consoleCalls(world, world.jar)),
      "read or write a row of an app without the proof of a live key of that app.": async (
        world,
      ) => {
        await world.rejects("all", ROWS);
        await world.rejects(
          "all",
          [
            listCall(world.mine, UNKNOWN_PROOF),
            listCall(world.other, proofOf(world.mine.key)),
            listCall(world.mine, "null"),
          ],
          SIGNALS.keyRejected,
        );
        expect(
          (await world.tryAs("all", listCall(world.other, proofOf(world.other.key)))).rows[0]?.[
            "body"
          ],
        ).toContain("theirs");
      },
      "read, create, rotate or revoke a key.": (world) => world.rejects("all", KEYS),
      "get or end a person's key without both cookies of a live session.": (world) =>
        getsNoPersonKey(world, "all"),
      "sign in as a person, or replace a password.": (world) => rejectsSignIns(world, "all"),
      "lower a count of sign-in attempts.": (world) => lowersNoCount(world),
      "accept another person's invitation, even with the Console's login.": (world) =>
        acceptsNoInvitation(world, "all"),
      "get a Console role for a person that it has created, even with the Console's login, or keep access to that person once an operator has confirmed the address.":
        (world) => getsNoConsoleRole(world),
      "mail its own text, or anything to an address that the service has not set.": (world) =>
        // test/identity/mail_test.ts covers emails with values that the login can store.
        world.rejects("all", [
          "insert into rowhouse.mails (template) values ('invitation')",
          "select rowhouse.queue_mail(id, 'new_device', null, '{}') from rowhouse.users",
          "update rowhouse.users set email = 'x@example.org', display_name = 'x'",
        ]),
      "end a session that it cannot prove, extend one, lock all sessions, or hide a conflict of two sessions.":
        async (world) => {
          await endsNoSession(world, "all");
          await world.rejects("all", [
            "update rowhouse.sessions set last_seen_at = now()",
            "update rowhouse.sessions set expires_at = expires_at + interval '1 day'",
            "select rowhouse.record_session_conflict(array['x', 'y'])",
            "insert into rowhouse.session_conflicts (first_id, second_id) values ('x', 'y')",
            "delete from rowhouse.session_conflicts",
          ]);
        },
      "read or change a second factor, or finish a sign-in that waits for a second factor.": (
        world,
      ) => keepsFactors(world, "all"),
      "read or change an account as its owner does, without both cookies of a live session.":
        async (world) => {
          const session = toPresented(IDENTITY_SECRETS, "session", [
            world.jar.get(SESSION_COOKIE) ?? "",
          ]);
          const from = `('${session}', '', 600, 'x')::rowhouse.visitor`;
          await world.rejects(
            "all",
            [
              `select rowhouse.read_account_settings(${from})`,
              `select rowhouse.change_own_profile(${from}, 'Eve', null)`,
              `select rowhouse.end_own_sessions(${from}, null)`,
              `select rowhouse.read_own_passkeys(${from})`,
              `select rowhouse.add_own_passkey(${from}, '${world.victim.id}', 'x', 'x', 900, 'x', 'x', 0, '', 'x', false,
                sha256('x'), 'x', '')`,
              `select rowhouse.remove_own_passkey(${from}, 'x')`,
              `select rowhouse.change_own_password(${from}, sha256('x'), 'h', sha256('h'), 's', 'aaaaaaaaaaaaaaaa',
                sha256('s'), sha256('i'), 's', 600, array['x'], null, '')`,
            ],
            SIGNALS.notSignedIn,
          );
        },
      "create a person who can sign in, grant a role that counts, or set a limit.": async (
        world,
      ) => {
        await plantsRole(world);
        await world.rejects("all", [
          "insert into rowhouse.users (id, email) values (gen_random_uuid(), 'x@example.org')",
          "update rowhouse.users set email = 'x@example.org'",
          "update rowhouse.users set console_role = 'super_admin'",
          "select rowhouse.set_console_role('x@example.org', 'super_admin', null, 'me')",
          "select rowhouse.set_disabled('x@example.org', false, 'me')",
          "insert into rowhouse.grants (user_id, app_id, role) select gen_random_uuid(), gen_random_uuid(), 'admin'",
          "update rowhouse.apps set requests_per_minute = 1",
          "select rowhouse.set_targets('x', '{}', '[]', '[]', 'me')",
          "select rowhouse.rename_app('x', 'y', 'me')",
          "select rowhouse.delete_user('x@example.org', 'me')",
          "select * from rowhouse.delete_app_step('x', 'me')",
          "select * from rowhouse.delete_some_rows('{}', gen_random_uuid(), 1)",
        ]);
      },
      "add an audit entry in the name of an operator or another person, change or backdate an entry, or delete one younger than 30 days.":
        async (world) => {
          await world.rejects("all", [
            "insert into rowhouse.audit (actor, action, user_id) values ('operator', 'nothing', null)",
            "update rowhouse.audit set actor = 'me'",
            "delete from rowhouse.audit",
            "truncate rowhouse.audit",
            "insert into rowhouse.audit (at, actor, action) values ('2000-01-01', 'me', 'nothing')",
          ]);
          expect(
            (await world.tryAs("all", "select rowhouse.sweep_audit(0) as swept")).rows,
          ).toEqual([{ swept: 0 }]);
        },
    },
  },
  "The gateway's serving login": {
    Can: {
      "read the slugs, origins and limits of apps, and the record of a key whose proof it knows.":
        async (world) => {
          await world.allows("gateway", [
            "select slug, requests_per_minute from rowhouse.apps",
            "select origin from rowhouse.targets",
          ]);
          const id = world.mine.key.split(/[_.]/)[1];
          const known = await world.tryAs(
            "gateway",
            `select app_id::text from rowhouse.use_caller_key('${id}', ${proofOf(world.mine.key)})`,
          );
          expect(known.rows).toEqual([{ app_id: world.mine.id }]);
          expect(
            (
              await world.tryAs(
                "gateway",
                `select * from rowhouse.use_caller_key('${id}', sha256(${proofOf(world.mine.key)}))`,
              )
            ).rows,
          ).toEqual([]);
        },
      "use up the limits of an app, a key or an address that it can name, but not raise them.": (
        world,
      ) => usesUpLimits(world, "gateway"),
    },
    Cannot: {
      "call a function of an app's table, whatever proof it knows.": (world) =>
        world.rejects("gateway", [listCall(world.mine, proofOf(world.mine.key)), ...ROWS]),
      "read people, sessions, or the definitions of tables.": (world) =>
        world.rejects("gateway", [...PEOPLE, ...DEFINITIONS]),
    },
  },
  "The data service's serving login": {
    Can: {
      "read the ids of apps, the definitions of all tables, and the SQL of all migrations.": (
        world,
      ) => world.allows("data", [...DEFINITIONS, "select app_id from rowhouse.registrations"]),
      "read and write the rows of an app with a proof of its key that it knows.": async (world) =>
        expect(
          (await world.tryAs("data", listCall(world.other, proofOf(world.other.key)))).rows[0]?.[
            "body"
          ],
        ).toContain("theirs"),
      "continue to read with a revoked proof, in a transaction with an older snapshot.":
        readsOnInSnapshot,
      "decrypt a cursor of live updates that it has: transaction ids, which count the writes of all apps, and no row.":
        (world) => decryptsCursors(world, "data"),
      "mark a nonce that it has seen as used, so that the signed write is rejected. It cannot list nonces.":
        (world) => usesNonces(world, "data"),
      "continue or cancel a deletion of rows that an administrator has begun, but not begin one.":
        async (world) => {
          await world.rejects(
            "data",
            ["select rowhouse.run_rows_job(gen_random_uuid(), 1)"],
            SIGNALS.unknownJob,
          );
          await world.allows("data", ["select rowhouse.cancel_rows_job(gen_random_uuid())"]);
          await world.rejects("data", [
            "insert into rowhouse.row_jobs (app_id, tables, kind, actor, counts) values (gen_random_uuid(), '{}', 'delete_app', 'me', '{}')",
            "select rowhouse.begin_end_registration('x', 'todos', null, 'me')",
          ]);
        },
      "use up the time that an app has for queries without an index, but no other limit.":
        usesUpTime,
    },
    Cannot: {
      "read or write a row with the proof of another app's key, or of a revoked key.": async (
        world,
      ) => {
        const revoked = await makeKey(world, world.other);
        await world.allows("data", [listCall(world.other, proofOf(revoked))]);
        await revokeKey({ admin: world.service.service.admin }, revoked.split(/[_.]/)[1] ?? "");
        await world.rejects(
          "data",
          [listCall(world.other, proofOf(world.mine.key)), listCall(world.other, proofOf(revoked))],
          SIGNALS.keyRejected,
        );
        await world.rejects("data", ROWS);
      },
      "read a key, a person, a session, or the name of an app.": async (world) => {
        await world.rejects("data", [...KEYS, ...PEOPLE, "select slug from rowhouse.apps"]);
        await readsNoCaller(world, "data");
      },
    },
  },
  "The identity service's serving login": {
    Can: {
      "read and change people and sessions like the serving login of one process.": (world) =>
        reachesPeople(world, "identity"),
      "mark a nonce that it has seen as used, so that the signed write is rejected. It cannot list nonces.":
        (world) => usesNonces(world, "identity"),
    },
    Cannot: {
      "call a function of an app's table, whatever proof it knows.": (world) =>
        world.rejects("identity", [listCall(world.mine, proofOf(world.mine.key)), ...ROWS]),
      "read a key, or the definitions of tables.": (world) =>
        world.rejects("identity", [...KEYS, ...DEFINITIONS]),
      "get or end a person's key without both cookies of a live session.": (world) =>
        getsNoPersonKey(world, "identity"),
      "sign in as a person, or replace a password.": (world) => rejectsSignIns(world, "identity"),
    },
  },
};

/**
 * Returns a call that stores a password link for a person with a queued email. `proof` is the proof of the current
 * password.
 */
async function forgottenCall({ service, victim }: World, proof: string): Promise<string> {
  const [mail] = await service.query<{ id: string }>(
    "insert into rowhouse.mails (template, user_id) values ('forgotten_password', $1::text::uuid) returning id::text",
    [victim.id],
  );
  return `select rowhouse.put_forgotten_link(${mail?.id}, '${victim.email}', decode('${proof}', 'hex'), 'aaaaaaaaaaaaaaaa', sha256('x'), 'x',
    now() + interval '30 minutes') as is_done`;
}

/** Creates a person without a password. */
async function invite(
  { service }: World["service"],
  consoleRole?: "super_admin",
): Promise<{ id: string; email: string }> {
  const email = `${crypto.randomUUID()}@example.org`;
  const invitation = { email, displayName: undefined, consoleRole };
  return { email, id: (await createUser(testDeps(service), invitation)).id };
}

/** Expects that the login can store only a false digest: the service verifies the proof and rejects the link. */
async function plantsLinks({ service, tryAs }: World, login: Login): Promise<void> {
  const subject = { issuer: "https://planted.example.org", subject: crypto.randomUUID() };
  const link = `'${subject.issuer}', '${subject.subject}', sha256('x'), 'x', 'planted'`;
  const person = `rowhouse.create_linked_person(gen_random_uuid(), '${subject.subject}@example.org', sha256('x'), null, ${link})`;
  expect((await tryAs(login, `select ${person} as is_done`)).rows).toEqual([{ is_done: true }]);
  await readRows(service.service.db, `select ${person}`);
  const deps = { db: service.service.db, identitySecrets: IDENTITY_SECRETS };
  expect(await findProviderPerson(deps, subject, undefined)).toEqual({ kind: "planted" });
}

/** Expects a rejection for any value in place of the address's proof, and for every kind of invitation. */
async function acceptsNoInvitation(world: World, login: Login): Promise<void> {
  const { service, victim, tryAs } = world;
  const boss = await invite(service, "super_admin");
  for (const { id, email } of [boss, victim])
    for (const proof of [
      "null",
      "''",
      UNKNOWN_PROOF,
      `(select email_digest from rowhouse.users where id = '${id}')`,
    ]) {
      const link = `'https://x', '${id}', sha256('x' || uuid_send('${id}')), 'x', 'x'`;
      const values = `'${id}', '${email}', ${proof}, ${link}`;
      for (const name of ["null", "'x'"]) {
        const text = `select rowhouse.accept_by_provider(${values}, ${name}) as is_done`;
        expect((await tryAs(login, text)).rows).toEqual([{ is_done: false }]);
      }
    }
  const finished = `select ${finishProvider(boss.id, "'x'", "[]")} as outcome`;
  expect((await tryAs(login, finished)).rows).toEqual([{ outcome: "wrong" }]);
  await runOnPerson(service.service, "delete_user", boss.email);
}

/** Returns a call that signs a person in with a linked account of the same name. */
const finishProvider = (id: string, proof: string, claimed: string) =>
  `rowhouse.finish_provider_sign_in('${id}', 'https://x', '${id}', ${proof}, sha256('x' || uuid_send('${id}')),
    '${IDENTITY_SECRETS.current.id}', '', 'aaaaaaaaaaaaaaaa', sha256('s'), sha256('i'), 'x', 600, now(), 'state', array['x'],
    'x', '', '', false, '${claimed}', 'bbbbbbbbbbbbbbbb', sha256('p'), 'none')`;

/** Creates a person with a link whose proof the attacker knows. */
async function makeAccomplice({
  service,
}: World["service"]): Promise<{ id: string; email: string }> {
  const id = crypto.randomUUID();
  const email = `${id}@example.org`;
  const call = `select rowhouse.create_linked_person('${id}', '${email}', sha256('x'), null,
    'https://x', '${id}', sha256('x' || uuid_send('${id}')), 'x', 'x')`;
  await readRows(service.db, call);
  return { id, email };
}

/** The login can sign in as the created person. Every way to grant a role requires the proof of the address. */
async function getsNoConsoleRole({ service, tryAs }: World): Promise<void> {
  const { id, email } = await makeAccomplice(service);
  const finished = `select ${finishProvider(id, "'x'", "[]")} as outcome`;
  expect((await tryAs("all", finished)).rows).toEqual([{ outcome: "done" }]);
  const rejected = "this service has not set";
  const deps = testDeps(service.service);
  await expect(giveConsoleRole(deps, email, "super_admin")).rejects.toThrow(rejected);
  await expect(giveConsoleRole(deps, email, "admin")).rejects.toThrow(rejected);
  const move = changeEmail(deps, { email, newEmail: `moved-${email}` });
  await expect(move).rejects.toThrow(rejected);
  expect((await showUser(deps, email)).consoleRole).toBeNull();
  await losesConfirmedAccount({ service, tryAs } as World, { id, email });
  await runOnPerson(service.service, "delete_user", email);
}

/** If an operator confirms the address by mistake, the attacker's sessions and link are removed. */
async function losesConfirmedAccount(
  { service, tryAs }: World,
  { id, email }: { id: string; email: string },
): Promise<void> {
  const deps = testDeps(service.service);
  const finished = `select ${finishProvider(id, "'x'", "[]")} as outcome`;
  await withDatabase(service.database.servingUrl, (thief) => thief.message(finished));
  expect((await showUser(deps, email)).sessions).toHaveLength(1);
  const { unconfirmed } = await readAddresses({ db: service.service.db }, IDENTITY_SECRETS);
  const chosen = unconfirmed.filter((address) => address.email === email);
  expect(await confirmAddresses(deps, chosen, { isRenewal: false })).toBe(1);
  expect(await showUser(deps, email)).toMatchObject({ sessions: [], hasProvider: false });
  expect((await tryAs("all", finished)).rows).toEqual([{ outcome: "wrong" }]);
  await giveConsoleRole(deps, email, "admin");
}

/** Expects that a finished sign-in reverts only its own count of attempts, and only once. */
async function lowersNoCount(world: World): Promise<void> {
  const { id, email } = await makeAccomplice(world.service);
  const finish = () =>
    `select ${finishProvider(id, "'x'", "[]").replace("aaaaaaaaaaaaaaaa", crypto.randomUUID().slice(-12).padEnd(16, "a"))}`;
  const begin = (networks: string) =>
    `select (rowhouse.begin_provider_sign_in('state', array[${networks}], array[9], 900)).wait_s`;
  const count = (kind: string, network: string) =>
    `select rowhouse.throttle_key('${kind}', '${network}') as key`;
  const { admin } = world.service.service;
  const [key] = await readRows<{ key: string }>(admin, count("provider client", "x"));
  await admin.message(`insert into rowhouse.throttle (key, attempts, ends_at) values
    ('${key?.key}', 5, now() + interval '1 hour'), ('all', 5, now() + interval '1 hour')
    on conflict (key) do update set attempts = 5, ends_at = excluded.ends_at; select 1`);
  // The login runs each statement in a separate, committed transaction.
  await withDatabase(world.service.database.servingUrl, async (thief) => {
    for (const text of [finish(), begin("'y'"), finish(), begin("'x'"), finish(), finish()])
      await thief.message(text);
  });
  const counted = await readRows<{ attempts: number }>(
    admin,
    "select attempts from rowhouse.throttle where key in ('all', $1) order by key",
    [key?.key ?? ""],
  );
  expect(counted).toEqual([{ attempts: 5 }, { attempts: 5 }]);
  await runOnPerson(world.service.service, "delete_user", email);
  await admin.message("delete from rowhouse.throttle; select 1");
}

/** Expects that the login cannot end sessions by the digests that it reads, or lock all sessions. */
async function endsNoSession(world: World, login: Login): Promise<void> {
  await world.rejects(login, [
    "delete from rowhouse.sessions",
    ...["row exclusive", "share", "exclusive", "access exclusive"].map(
      (mode) => `lock table rowhouse.sessions in ${mode} mode`,
    ),
    "select from rowhouse.sessions for key share",
  ]);
  const { rows } = await world.tryAs(
    login,
    `with presented as (
      select string_agg(id || '.' || encode(session_digest, 'hex'), ',') as text, count(*) from rowhouse.sessions
    ), ended as materialized (select rowhouse.sign_out(text, '') from presented)
    select (select count(*) from ended) as calls, count > 0 as had from presented`,
  );
  expect(rows).toEqual([{ calls: "1", had: true }]);
  const cookie = `${SESSION_COOKIE}=${world.jar.get(SESSION_COOKIE)}`;
  expect((await me(world, cookie)).status).toBe(200);
}

/** The login can store a role through its own link, but the service rejects the role's digest. */
async function plantsRole({ service, mine, tryAs }: World): Promise<void> {
  const { id, email } = await makeAccomplice(service);
  const claimed = JSON.stringify([[mine.id, "admin", "07".repeat(32)]]);
  const finished = finishProvider(id, "'x'", claimed);
  expect((await tryAs("all", `select ${finished} as outcome`)).rows).toEqual([{ outcome: "done" }]);
  await readRows(service.service.db, `select ${finished}`);
  const { rows } = await tryAs(
    "all",
    `select rowhouse.stored_grant(user_id, app_id)::text as stored from rowhouse.grants where user_id = '${id}'`,
  );
  const stored = JSON.parse(String(rows[0]?.["stored"])) as StoredGrant;
  expect(stored.slice(0, 2)).toEqual(["admin", "x"]);
  expect(toGrantedRole(IDENTITY_SECRETS, { userId: id, appId: mine.id }, stored)).toBeUndefined();
  await runOnPerson(service.service, "delete_user", email);
}

/** Expects that a login that serves people cannot sign in as a person with the values that it can read and write. */
async function rejectsSignIns(world: World, login: Login): Promise<void> {
  const { hash, secretId } = await hashOf(world, login, world.victim);
  expect(hash).toStartWith("$argon2id$");
  for (const proof of [digestOf("x"), digestOf(hash), Buffer.from(hash).toString("hex"), ""])
    for (const fresh of ["null, null, null", "'$argon2id$v=19$x', sha256('x'), 'x'"])
      expect((await world.tryAs(login, finishCall(world.victim, proof, fresh))).rows).toEqual([
        { is_done: false },
      ]);
  const right = proveSignIn(IDENTITY_SECRETS, world.victim.id, { hash, secretId }) ?? "";
  for (const [proof, is_done] of [
    [digestOf(hash), false],
    ["", false],
    [right, true],
  ] as const)
    expect((await world.tryAs(login, await forgottenCall(world, proof))).rows).toEqual([
      { is_done },
    ]);
  await world.rejects(login, [
    "insert into rowhouse.mails (template, user_id) select 'forgotten_password', id from rowhouse.users",
    "select rowhouse.queue_mail(id, 'invitation', null, '{}') from rowhouse.users",
    `insert into rowhouse.sessions (id, session_digest, identity_digest, secret_id, user_id, expires_at)
      values ('aaaaaaaaaaaaaaaa', sha256('s'), sha256('i'), 'x', '${world.victim.id}', now() + interval '1 hour')`,
    `update rowhouse.sessions set user_id = '${world.victim.id}'`,
    "update rowhouse.sessions set expires_at = now() + interval '1 year'",
    "update rowhouse.users set password_hash = 'x', password_digest = sha256('x'), password_secret_id = 'x'",
    "insert into rowhouse.password_links (user_id, id, digest, secret_id, expires_at) select id, 'aaaaaaaaaaaaaaaa', sha256('x'), 'x', now() from rowhouse.users",
  ]);
  const finished = `select rowhouse.finish_provider_sign_in('${world.victim.id}', 'https://x', 's', 'x', sha256('x'), 'x', '',
    'aaaaaaaaaaaaaaaa', sha256('s'), sha256('i'), 'x', 600, now(), 'x', array['x'], 'x', '', '', false, '[]',
    'bbbbbbbbbbbbbbbb', sha256('p'), 'none') <> 'wrong' as is_done`;
  expect((await world.tryAs(login, finished)).rows).toEqual([{ is_done: false }]);
  await signsInByNoPasskey(world, login);
  const { rows } = await world.tryAs(
    login,
    "select id, encode(session_digest, 'hex') as digest from rowhouse.sessions",
  );
  expect(rows.length).toBeGreaterThan(0);
  for (const { id, digest } of rows)
    for (const secret of [String(digest), String(digest).slice(0, 32)])
      expect((await me(world, `${SESSION_COOKIE}=${id}.${secret}`)).status).toBe(401);
  const { linkText } = await makePasswordLink(testDeps(world.service.service), world.victim.email);
  const links = await world.tryAs(
    login,
    "select id, encode(digest, 'hex') as digest from rowhouse.password_links",
  );
  for (const { id, digest } of links.rows)
    expect(
      (
        await world.tryAs(
          login,
          `select rowhouse.use_password_link('${id}', decode('${digest}', 'hex'), 'h', sha256('x'), 'x') as is_done`,
        )
      ).rows,
    ).toEqual([{ is_done: false }]);
  expect(linkText).toStartWith(String(links.rows[0]?.["id"]));
}

const toHex = (base64url: string) => Buffer.from(base64url, "base64url").toString("hex");
const beginPasskey = (id: string) => `rowhouse.begin_passkey(${id}, array['x'], array[60], 900)`;

/** Expects a rejection for any value in place of the proof of an existing passkey. */
async function signsInByNoPasskey(world: World, login: Login): Promise<void> {
  const { person, authenticator } = await makeHolder(world.service);
  const id = `decode('${toHex(authenticator.credentialId)}', 'hex')`;
  for (const proof of ["null", "''", `(select public_key from ${beginPasskey(id)})`]) {
    const call = `rowhouse.finish_passkey_sign_in(${id}, '${person.id}', ${proof}, 1, sha256('x'), 'x', 'passkey x', 900,
      array['x'], '', 'aaaaaaaaaaaaaaaa', sha256('s'), sha256('i'), 'x', 600, '', '', false)`;
    expect((await world.tryAs(login, `select ${call} as outcome`)).rows).toEqual([
      { outcome: "planted" },
    ]);
  }
  await world.rejects(login, [
    "select * from rowhouse.passkeys",
    "update rowhouse.passkeys set user_id = gen_random_uuid()",
    `select rowhouse.use_passkey(${id}, '${person.id}', 'x', 1, sha256('x'), 'x')`,
  ]);
}

/** Expects a limit of 30 days for the counting period, even if the login passes a longer period. */
async function countsForDays({ tryAs }: World, login: Login): Promise<void> {
  const window = 2_147_483_647;
  const count = (keys: string) =>
    `select (rowhouse.begin_passkey('', array[${keys}], array[1], ${window})).wait_s`;
  const { rows } = await tryAs(login, `${count("'one'")} union all ${count("'one'")}`);
  expect(rows).toEqual([{ wait_s: 0 }, { wait_s: 2_592_000 }]);
}

async function reachesPeople(world: World, login: Login): Promise<void> {
  await world.allows(login, [
    "select email, display_name from rowhouse.users",
    "select role from rowhouse.grants",
    "select slug from rowhouse.apps",
    "select origin from rowhouse.targets",
    "select session_digest, identity_digest, device, address from rowhouse.sessions",
    "select digest from rowhouse.password_links",
    "select rowhouse.record_wrong_factor(gen_random_uuid(), 'totp', '')",
    "select rowhouse.record_rejected_sign_in('x', 'x', null, '')",
    "select rowhouse.begin_sign_in('x@example.org', array['x'], 'x', null, '', 10, array[60], 600, 900)",
  ]);
  expect((await hashOf(world, login, world.victim)).hash).toStartWith("$argon2id$");
}

async function addsStatistics(world: World, login: Login): Promise<void> {
  const values = "gen_random_uuid(), 'data', now(), now(), false, 1, '[]', '[]', '[]', '[]'";
  await world.allows(login, [
    `select rowhouse.add_minute(${values}, null)`,
    "select * from rowhouse.running_versions()",
    "select rowhouse.sweep_statistics(1)",
  ]);
  await world.rejects(login, [
    "select * from rowhouse.statistics",
    "select * from rowhouse.stored_requests",
    "select * from rowhouse.rejections",
    "select * from rowhouse.rejection_kinds",
    "select * from rowhouse.processes",
  ]);
}

const PLANTED: readonly string[] = [
  ...["'; echo PWNED; : '", "$(echo PWNED)", "`echo PWNED`", "\necho PWNED\n"],
  ...["\u001b[201~echo PWNED\u001b[200~", "\u009b201~PWNED"],
];

/** Adds requests with a command in each text, and runs the command that the Console shows for each stored request. */
async function plantsNoCommand(world: World): Promise<void> {
  const { mine, service } = world;
  const request = { app: mine.id, at_ms: Date.now(), status: 500, code: "request_failed", ms: 1 };
  const usual = { method: "POST", route: "/v1/data/db/:table", table: "todos", fields: ["/title"] };
  const forms = PLANTED.flatMap((text) => [
    {},
    { method: `POST${text}` },
    { route: `/v1/data/db/todos${text}` },
    { table: `todos${text}` },
    { fields: [`/title${text}`] },
    { code: `request_failed${text}` },
  ]);
  const stored = forms.map((planted) => ({
    ...{ id: crypto.randomUUID(), key: mine.key.slice(3, 19), requests: 1 },
    ...{ ...request, ...usual, ...planted },
  }));
  const rejected = PLANTED.flatMap((text) => [
    { app: mine.id, table: `todos${text}`, code: "not_found", requests: 1 },
    { app: mine.id, table: "todos", code: `not_found${text}`, requests: 1 },
  ]);
  await readRows(
    service.service.db,
    `select rowhouse.add_minute(gen_random_uuid(), 'all', now(), now(), false, 1,
      $1::text::jsonb, '[]', $2::text::jsonb, $3::text::jsonb, null)`,
    [PLANTED, rejected, stored].map((value) => JSON.stringify(value)),
  );
  const pages = await Promise.all(
    stored.map(({ id }) => visit(service, world.jar, `/console/requests/${id}`)),
  );
  const shown = pages.filter(({ status }) => status === 200);
  // Only the requests without a command are stored.
  expect(shown).toHaveLength(PLANTED.length);
  for (const { text } of shown) {
    const [, snippet = ""] = /<code id="curl">([^<]*)<\/code>/.exec(text) ?? [];
    expect(runCopied(snippet)).toBe("curl -sS -X POST");
  }
  const lists = await Promise.all(
    ["/console", "/console/requests", `/console/apps/${mine.slug}`].map((path) =>
      visit(service, world.jar, path),
    ),
  );
  for (const { text } of [...lists, ...shown]) expect(text).not.toMatch(/[^\P{Cc}\n\t]/u);
}

/** The start of a command that a shell receives from a copied snippet, and everything else that it prints. */
function runCopied(snippet: string): string {
  const entities = { "&#39;": "'", "&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">" };
  const text = Object.entries(entities).reduce(
    (left, [from, to]) => left.replaceAll(from, to),
    snippet,
  );
  const shell = Bun.spawnSync(["bash", "-c", `curl() { echo curl "\${@:1:3}"; }\n${text}`]);
  return `${shell.stdout}${shell.stderr}`.trim();
}

async function usesUpLimits(world: World, login: Login): Promise<void> {
  /** Returns the balance after each reported pair of a limit and the consumed tokens. */
  const leaseTokens = async (reports: string) => {
    const name = `app ${crypto.randomUUID()}`;
    const { rows } = await world.tryAs(
      login,
      `select left_over::int4 from (values ${reports}) as report (per_minute, taken), lateral rowhouse.lease_tokens(
        gen_random_uuid(), array['${name}'], array[per_minute], array[taken], array[1])`,
    );
    return rows.map((row) => row["left_over"]);
  };
  // The debt is limited to one minute of requests, and a negative consumption is ignored.
  expect(await leaseTokens("(60, 1e9), (60, 1e9), (60, -1e9)")).toEqual([0, -60, -60]);
  expect(await leaseTokens("(1e9, 0), (60, 0)")).toEqual([1_000_000_000, 60]);
  await world.allows(login, ["select rowhouse.sweep_leases()"]);
  await world.rejects(login, [
    "select * from rowhouse.buckets",
    "update rowhouse.buckets set tokens = 1",
    "delete from rowhouse.leases",
  ]);
}

async function usesUpTime(world: World): Promise<void> {
  const lease = (name: string, taken: number) =>
    `rowhouse.lease_unindexed(gen_random_uuid(), array['${name}'], array[1000], array[${taken}], array[1])`;
  const { rows } = await world.tryAs(
    "data",
    `select bucket, left_over::int4 from ${lease(`${world.mine.id}`, 1e9)}`,
  );
  expect(rows).toEqual([{ bucket: world.mine.id, left_over: 0 }]);
  const limit = `app ${world.mine.id}`;
  const { admin } = world.service.service;
  await admin.message(`select ${lease(limit, 1e9)}`);
  const buckets = "select name from rowhouse.buckets where position($1 in name) > 0";
  expect(await readRows(admin, buckets, [limit])).toEqual([{ name: `unindexed ${limit}` }]);
  await world.rejects("data", [
    `select rowhouse.lease_tokens(gen_random_uuid(), array['${limit}'], array[1000], array[1], array[1])`,
    "select * from rowhouse.buckets",
    "delete from rowhouse.leases",
  ]);
  const turn = (proof: string) =>
    `select rowhouse.take_unindexed_turn('${world.mine.id}', ${proof}) as is_taken`;
  await world.rejects("data", [turn(proofOf(world.other.key)), turn("null")], SIGNALS.keyRejected);
  await world.allows("data", [turn(proofOf(world.mine.key))]);
}

async function usesNonces(world: World, login: Login): Promise<void> {
  await world.allows(login, [
    "select rowhouse.use_nonces(array[gen_random_uuid()])",
    "select rowhouse.sweep_nonces(1)",
  ]);
  await world.rejects(login, ["select * from rowhouse.nonces", "delete from rowhouse.nonces"]);
}

async function readsOnInSnapshot(world: World): Promise<void> {
  const key = await makeKey(world, world.other);
  const login = postgres(world.service.database.roleUrls.data, { max: 1, prepare: false });
  await login.unsafe("begin isolation level repeatable read");
  await login.unsafe("select 1 from rowhouse.versions");
  await revokeKey({ admin: world.service.service.admin }, key.split(/[_.]/)[1] ?? "");
  const [row] = await login.unsafe(listCall(world.other, proofOf(key)));
  await login.unsafe("rollback");
  await login.end();
  expect(row?.["body"]).toContain("theirs");
}

/** Expects that the secret of cursors decrypts one, and that its owner reads no change and no row. */
async function decryptsCursors(world: World, login: Login): Promise<void> {
  const { rows } = await world.tryAs(
    login,
    "select rowhouse.cursor_secret() ->> 'secret' as secret",
  );
  const secret = Buffer.from(String(rows[0]?.["secret"]), "hex");
  const { id: app } = world.other;
  const cursor = await makeCursors(world.service.service).seal({ app, table: "todos" }, "f.9:9:.");
  const key = createHash("sha256")
    .update(secret)
    .update(Buffer.from(app.replaceAll("-", ""), "hex"));
  const decrypted = unsealText(
    { key: key.digest(), owner: "todos" },
    Buffer.from(cursor, "base64url"),
  );
  expect(decrypted?.trimEnd()).toBe("f.9:9:.");
  await world.rejects(login, [
    "select * from rowhouse.changes",
    "select secret from rowhouse.change_feed",
    `select rowhouse.read_cursor('${decrypted}')`,
  ]);
  const poll = `select changed, ended from rowhouse.poll_changes('${decrypted}', array['${app}'::uuid], array[${UNKNOWN_PROOF}])`;
  expect((await world.tryAs(login, poll)).rows).toEqual([{ changed: [], ended: [0] }]);
}
