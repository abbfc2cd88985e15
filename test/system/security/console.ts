/** Attempts for the Console's login and the device cookie. The keys are the sentences of docs/security.md. @module */
import { expect } from "bun:test";
import { endRegistration } from "../../../src/accounts/apps/mod.ts";
import { toPresented } from "../../../src/accounts/secrets/mod.ts";
import { SERVICE_QUEUE, SIGNALS } from "../../../src/db/mod.ts";
import { defineSchema, t } from "../../../src/dsl/mod.ts";
import { DEVICE_COOKIE, IDENTITY_COOKIE, SESSION_COOKIE } from "../../../src/identity/mod.ts";
import { withDatabase } from "../../support/cluster.ts";
import { IDENTITY_SECRETS } from "../../support/deps.ts";
import {
  type Jar,
  makePerson,
  type Person,
  signInAs,
  submitSignIn,
  visit,
} from "../../support/people.ts";
import type { TestApp } from "../../support/service.ts";
import { asksForFactor } from "./factors.ts";
import { KEYS, me, type Page, PEOPLE, ROWS, type World } from "./world.ts";

export const CONSOLE: Page = {
  "The Console's login": {
    Can: {
      "read apps, tables, pushes, people, keys without secrets, failed requests and the audit log, change apps, and open an app's rows for five minutes. It needs both cookies of an administrator's live session.":
        async (world) => {
          const jar = await signInAs(world.service, world.victim);
          await ageSession(world, jar);
          await world.allows(
            "console",
            LASTING.map((call) => callOf(world, jar, call)),
          );
        },
      "create, rotate and revoke keys, change people, their roles and sessions, transfer, leave and drop tables, and delete apps. It needs both cookies of an administrator who signed in within the last ten minutes.":
        async (world) => {
          const jar = await signInAs(world.service, world.victim);
          // No other app uses any of its tables.
          const mine = await makeOwner(world);
          const victim = await makePerson(world.service);
          await world.allows("console", [
            grantCall(world, jar),
            ...SENSITIVE.map((call) => callOf({ mine, victim }, jar, call)),
          ]);
        },
      "record, max 100 times an hour, that an action of a person was rejected. It needs both cookies of the person's live session.":
        async (world) => {
          const own = await makePerson(world.service);
          const jar = await signInAs(world.service, own);
          const letters = [..."abcdefghijk"];
          const calls = letters.flatMap((first) =>
            letters.map((second) => rejectionCall(jar, `/console/${first}/${second}`)),
          );
          await commitCalls(world, calls);
          expect(await countRejections(world, own)).toBe(100);
        },
    },
    Cannot: {
      "record a rejected action of another person, or free text.": async (world) => {
        const own = await makePerson(world.service);
        const jar = await signInAs(world.service, own);
        const other = await signInAs(world.service, world.victim);
        const mixed = new Map([...jar, [SESSION_COOKIE, other.get(SESSION_COOKIE) ?? ""]]);
        const half = new Map([[SESSION_COOKIE, other.get(SESSION_COOKIE) ?? ""]]);
        const forged = [mixed, half].map((cookies) => rejectionCall(cookies, "console_home"));
        await world.rejects("console", forged, SIGNALS.notSignedIn);
        const freeTexts = ["console_home x", "/console/apps/:app?x", "", "console_home\n"];
        const invalid = freeTexts.map((text) => rejectionCall(jar, text));
        invalid.push(rejectionCall(jar, "console_home", "some other reason"));
        await world.rejects("console", invalid, "22023");
        await world.rejects("console", [
          `select rowhouse.log('${world.victim.id}', 'console_rejected', '${world.victim.id}')`,
        ]);
      },
      "act without both cookies, or create a key, change a person, transfer a table or delete an app more than ten minutes after the sign-in.":
        async (world) => {
          const jar = await signInAs(world.service, world.victim);
          const shared: Jar = new Map([[SESSION_COOKIE, jar.get(SESSION_COOKIE) ?? ""]]);
          const all = (of: Jar, calls: readonly string[]) => [
            grantCall(world, of),
            ...calls.map((call) => callOf(world, of, call)),
          ];
          const every = all(shared, [...LASTING, ...SENSITIVE]);
          await world.rejects("console", every, SIGNALS.consoleRejected);
          await ageSession(world, jar);
          await world.rejects("console", all(jar, SENSITIVE), SIGNALS.signInTooOld);
        },
      "grant a Console role, or change an account with a Console role, for an `admin` who is not a `super_admin`.":
        async (world) => {
          const own = await makePerson(world.service, { consoleRole: "admin" });
          const jar = await signInAs(world.service, own);
          const rejected = SENSITIVE.filter((call) => ACCOUNT.test(call));
          expect(rejected.length).toBe(10);
          await world.rejects(
            "console",
            [
              ...rejected,
              "console_invite(WHO, gen_random_uuid(), 'x@example.org', null, null, 'admin', LINK, null, null)",
            ].map((call) => callOf(world, jar, call)),
            SIGNALS.superAdminNeeded,
          );
        },
      "perform a sensitive action if the person presented the second factor more than ten minutes ago, or any action if the session has not presented it, or if the person has postponed a second factor for more than a week.":
        (world) =>
          asksForFactor(world, {
            lasting: (jar) => LASTING.slice(0, 4).map((call) => callOf(world, jar, call)),
            sensitive: (jar) => SENSITIVE.map((call) => callOf(world, jar, call)),
          }),
      "read or change a table, or call anything but these reads and actions.": (world) =>
        world.rejects("console", [
          ...PEOPLE,
          ...KEYS,
          ...ROWS,
          "select rowhouse.set_console_role('x@example.org', 'super_admin', null, 'x')",
          "select rowhouse.check_console(('', '', 1, ''), 'admin', false)",
        ]),
    },
  },
  "A device's cookie": {
    Can: {
      "try ten passwords in 15 minutes for each person whose id is in it, even if unknown devices are at their limit.":
        async (world) => {
          const device = await knownDevice(world);
          const { email } = world.victim;
          await lockOut(world, email);
          expect((await submitSignIn(world.service, new Map(), { email })).status).toBe(429);
          expect((await submitSignIn(world.service, device, { email })).status).toBe(303);
          await world.service.service.admin.message("delete from rowhouse.throttle; select 1");
        },
    },
    Cannot: {
      "sign a person in, or show a page.": async (world) => {
        const device = await knownDevice(world);
        expect((await me(world, `${DEVICE_COOKIE}=${device.get(DEVICE_COOKIE)}`)).status).toBe(401);
        expect((await visit(world.service, device, "/login")).text).toContain('name="password"');
      },
      "be created for another person without `IDENTITY_SECRET`.": async (world) => {
        const { email, id } = world.victim;
        const own = await makePerson(world.service);
        const jar = await signInAs(world.service, own);
        const forged = (jar.get(DEVICE_COOKIE) ?? "").replace(own.id, id);
        await lockOut(world, email);
        const response = await submitSignIn(world.service, new Map([[DEVICE_COOKIE, forged]]), {
          email,
        });
        expect(response.status).toBe(429);
        await world.service.service.admin.message("delete from rowhouse.throttle; select 1");
      },
    },
  },
};

/** Calls that any live session allows. `APP` is replaced by the app's slug, `PERSON` by a person's id. */
const LASTING = [
  "console_home(WHO, 'hour', 9)",
  "console_list_requests(WHO, '', '', '', '', '', '', '', null, null, 9)",
  "console_show_request(WHO, gen_random_uuid(), now(), now())",
  "console_show_changes(WHO, 'APP', 'hour', now(), now(), 9)",
  "console_list_apps(WHO, '', '', 9)",
  "console_show_app(WHO, 'APP', 'hour')",
  "console_list_audit(WHO, '', '', '', '', null, null, null, 9, 9)",
  "console_describe_app(WHO, 'APP')",
  "console_show_rows(WHO, 'APP', 'todos')",
  "console_open_rows(WHO, 'APP_ID', '0000000000000002', sha256('z'), array['data:read'], 'rows')",
  "console_create_app(WHO, gen_random_uuid(), 'another-app', '[]')",
  "console_set_targets(WHO, 'APP', '{origin,redirect}', '[]', '[]')",
  "console_set_limit(WHO, 'APP', null, null)",
  "console_set_app_switch(WHO, 'APP', 'disabled', true)",
  "console_find_app_id(WHO, 'APP')",
  "console_find_addresses(WHO, '{someone@example.org}')",
  "console_list_people(WHO, '', '', 9)",
  "console_list_invitations(WHO, '', '', 9)",
  "console_show_person(WHO, 'PERSON', null, '', 9)",
  "console_list_app_people(WHO, 'APP', '', '', 9)",
  "console_list_app_roles(WHO, 'APP')",
  "console_list_tables(WHO, '', '', 9)",
  "console_show_table(WHO, 'todos')",
  "console_list_app_tables(WHO, 'APP', '', 9)",
  "console_list_pushes(WHO, 'APP', null, 9)",
  "console_show_push(WHO, 'APP', 1)",
  "console_find(WHO, 'x', 'x', 9)",
  "console_find_end(WHO, 'APP', 'todos')",
] as const;
/** Calls that require a recent sign-in. */
const SENSITIVE = [
  "console_issue_key(WHO, 'APP', '0000000000000000', 'x', sha256('x'), '{}', null)",
  "console_roll_key(WHO, 'APP', 'KEY', '0000000000000001', sha256('y'), 0)",
  "console_revoke_key(WHO, 'APP', 'KEY')",
  "console_invite(WHO, gen_random_uuid(), 'x' || gen_random_uuid() || '@example.org', sha256('x'), null, null, LINK, null, null)",
  "console_invite_people(WHO, '[]', 'aaaaaaaaaaaaaaaa', now() + interval '1 day', null, null)",
  "console_make_password_link(WHO, 'PERSON', LINK)",
  "console_resend_invitation(WHO, 'PERSON', LINK)",
  "console_withdraw_invitation(WHO, 'PERSON')",
  "console_set_console_role(WHO, 'PERSON', 'super_admin', PROOF)",
  "console_change_email(WHO, 'PERSON', PROOF, 'y' || gen_random_uuid() || '@example.org', sha256('x'), 'x')",
  "console_set_disabled(WHO, 'PERSON', false)",
  "console_revoke_role(WHO, 'PERSON', 'APP')",
  "console_end_sessions(WHO, 'PERSON')",
  "console_end_session(WHO, 'PERSON', '0000000000000000')",
  "console_end_app_sessions(WHO, 'APP')",
  "console_reset_second_factor(WHO, 'PERSON')",
  "console_delete_user(WHO, 'PERSON')",
  "console_delete_app_step(WHO, 'APP')",
  "console_transfer_table(WHO, 'TABLE', 'APP')",
  "console_begin_end_registration(WHO, 'APP', 'TABLE', '{TABLE}')",
  "console_drop_table(WHO, 'TABLE_unused', '{TABLE_unused}')",
] as const;

/** The functions that these calls name. */
export const CONSOLE_FUNCTIONS: ReadonlySet<string> = new Set(
  [...LASTING, ...SENSITIVE, "console_grant_role(", "console_log_rejection("].map(
    (call) => call.split("(")[0] ?? "",
  ),
);

const ACCOUNT =
  /_(link|invitation|email|console_role|disabled|sessions?|second_factor|user)\(WHO, 'PERSON'/;

/** Returns the call that the Console sends for a browser with these cookies. */
function callOf({ mine, victim }: Pick<World, "mine" | "victim">, jar: Jar, call: string): string {
  const named = call.replace("WHO", visitorOf(jar)).replace("KEY", mine.key.slice(3, 19));
  const linked = named.replace(
    "LINK",
    "'aaaaaaaaaaaaaaaa', sha256('x'), 'x', now() + interval '1 day'",
  );
  const proof = IDENTITY_SECRETS.current.prove("address", victim.id, victim.email);
  const withProof = linked.replace(
    "PROOF",
    `array['\\x${Buffer.from(proof).toString("hex")}'::bytea]`,
  );
  const complete = withProof
    .replace("PERSON", victim.id)
    .replace("APP_ID", mine.id)
    .replace("APP", mine.slug);
  return `select rowhouse.${complete.replaceAll("TABLE", toTableName(mine))}`;
}

function toTableName({ slug }: Pick<TestApp, "slug">): string {
  return slug.replaceAll("-", "_");
}

/** Creates an app that owns a table in use and an unused table. */
async function makeOwner({ service }: World): Promise<TestApp> {
  const mine = await service.makeApp();
  const [table, unused] = [toTableName(mine), `${toTableName(mine)}_unused`];
  const columns = { title: t.string() };
  await service.pushSchema(mine, defineSchema({ [table]: columns, [unused]: columns }));
  await withDatabase(service.database.rowsUrl, (rows) =>
    endRegistration(
      { admin: service.service.admin, rows },
      { slug: mine.slug, table: unused, expected: [unused] },
    ),
  );
  return mine;
}

async function ageSession({ service }: World, jar: Jar): Promise<void> {
  const [id = ""] = (jar.get(SESSION_COOKIE) ?? "").split(".");
  await service.service.admin.message(
    `update rowhouse.sessions set proven_at = now() - interval '10 minutes' where id = '${id}'; select 1`,
  );
}

/** Returns the call that the Console sends to grant a role. */
export function grantCall({ victim, mine }: World, jar: Jar): string {
  return `select rowhouse.console_grant_role(${visitorOf(jar)}, '${victim.email}', '${mine.slug}', 'reader')`;
}

function rejectionCall(jar: Jar, action: string, why = "no_role"): string {
  return `select rowhouse.console_log_rejection(${visitorOf(jar)}, '${action}', '${why}')`;
}

/** Sends the calls on the Console's login. `world.allows` would roll them back. */
async function commitCalls({ service }: World, calls: readonly string[]): Promise<void> {
  await withDatabase(service.database.consoleUrl, (db) =>
    db.message(`${calls.join("; ")}; select 1`),
  );
}

async function countRejections({ service }: World, { id }: Person): Promise<number> {
  const [row] = await service.service.admin.query<{ count: number }>(
    "select count(*)::integer as count from rowhouse.audit where action = 'console_rejected' and actor = $1",
    [id],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return row?.count ?? 0;
}

/** Returns the argument `visitor` that the Console passes for a browser with these cookies. */
function visitorOf(jar: Jar): string {
  const { session, identity } = presentedBy(jar);
  return `('${session}', '${identity}', 600, '192.0.2.1')::rowhouse.visitor`;
}

function presentedBy(jar: Jar): { session: string; identity: string } {
  const present = (kind: "session" | "identity", name: string) =>
    toPresented(IDENTITY_SECRETS, kind, [jar.get(name) ?? ""]);
  return {
    session: present("session", SESSION_COOKIE),
    identity: present("identity", IDENTITY_COOKIE),
  };
}

async function knownDevice({ service, victim }: World): Promise<Jar> {
  const jar = await signInAs(service, victim);
  return new Map([[DEVICE_COOKIE, jar.get(DEVICE_COOKIE) ?? ""]]);
}

/** Simulates an attack on an address: uses up every counter except those of devices. */
export async function lockOut({ service }: World, email: string): Promise<void> {
  await submitSignIn(service, new Map(), { email, password: "not the password" });
  await service.service.admin.message(
    "update rowhouse.throttle set attempts = 1000000 where key not like 'device %'; select 1",
  );
}
