/** Attempts for the Console's login and the device cookie. The keys are the sentences of docs/security.md. @module */
import { expect } from "bun:test";
import { endRegistration } from "../../../src/accounts/apps/mod.ts";
import { toPresented } from "../../../src/accounts/secrets/mod.ts";
import { type ActionName, SERVICE_QUEUE, SIGNALS } from "../../../src/db/mod.ts";
import { defineSchema, t } from "../../../src/dsl/mod.ts";
import { DEVICE_COOKIE, IDENTITY_COOKIE, SESSION_COOKIE } from "../../../src/identity/mod.ts";
import { toDurationText } from "../../../src/std/duration.ts";
import { FACTOR_GRACE_S, ROWS_KEY_LIFE_S } from "../../../src/std/limits.ts";
import { withDatabase } from "../../support/cluster.ts";
import { IDENTITY_SECRETS } from "../../support/deps.ts";
import {
  type Jar,
  makePerson,
  OLD_SIGN_IN,
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
      [`read apps, tables, pushes, people, keys without secrets, failed requests and the audit log, change apps, and open an app's rows for ${toDurationText(ROWS_KEY_LIFE_S)}. It needs both cookies of an administrator's live session.`]:
        async (world) => {
          const jar = await signInAs(world.service, world.victim);
          await ageSession(world, jar);
          await world.allows(
            "console",
            LASTING.map((call) => callOf(world, jar, call)),
          );
        },
      "create, rotate and revoke keys, change people, their roles and sessions, transfer, leave and drop tables, and delete apps. It needs both cookies of an administrator with a recent sign-in.":
        async (world) => {
          const jar = await signInAs(world.service, world.victim);
          // No other app uses any of its tables.
          const mine = await makeOwner(world);
          const victim = await makePerson(world.service);
          await world.allows(
            "console",
            SENSITIVE.map((call) => callOf({ mine, victim }, jar, call)),
          );
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
      "act without both cookies, or create a key, change a person, transfer a table or delete an app without a recent sign-in.":
        async (world) => {
          const jar = await signInAs(world.service, world.victim);
          const shared: Jar = new Map([[SESSION_COOKIE, jar.get(SESSION_COOKIE) ?? ""]]);
          const all = (of: Jar, calls: readonly string[]) =>
            calls.map((call) => callOf(world, of, call));
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
              act("invite", {
                new_id: "NEW_ID",
                email: "x@example.org",
                new_console_role: "admin",
                ...LINK,
              }),
            ].map((call) => callOf(world, jar, call)),
            SIGNALS.superAdminNeeded,
          );
        },
      [`perform a sensitive action if the person has not presented the second factor recently, or any action if the session has not presented it, or if the person has postponed a second factor for more than ${toDurationText(FACTOR_GRACE_S)}.`]:
        (world) =>
          asksForFactor(world, {
            lasting: (jar) => LASTING.slice(0, 4).map((call) => callOf(world, jar, call)),
            sensitive: (jar) => SENSITIVE.map((call) => callOf(world, jar, call)),
          }),
      "read or change a table, or call anything but these reads and actions.": async (world) => {
        const jar = await signInAs(world.service, world.victim);
        // The dispatcher knows no other action, not even of an operator.
        for (const action of ["rename_app", "create_user", "confirm_addresses", "", "log"])
          await world.rejects(
            "console",
            [callOf(world, jar, `console_act(WHO, '${action}', '{"app_slug":"APP"}')`)],
            "20000",
          );
        await world.rejects("console", [
          ...PEOPLE,
          ...KEYS,
          ...ROWS,
          "select rowhouse.set_console_role('x@example.org', 'super_admin', null, 'x')",
          "select rowhouse.check_console(('', '', 1, ''), 'admin', false)",
        ]);
      },
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

/** The call of an action. `NEW_ID` is replaced by a new id. */
function act(action: ActionName, input: Readonly<Record<string, unknown>>): string {
  return `console_act(WHO, '${action}', '${JSON.stringify(input)}')`;
}

/** A digest or a proof. */
const BYTES = `\\x${"01".repeat(32)}`;
const APP = { app_slug: "APP" };
const PERSON = { person: "PERSON" };
const KEY = { ...APP, old_key_id: "KEY" };
const DIGEST = { new_digest: BYTES };
const LINK = {
  link_id: "aaaaaaaaaaaaaaaa",
  proof: BYTES,
  link_secret_id: "x",
  ends_at: "tomorrow",
};
/** The backslash is escaped in the text of an array. */
const PROOFS = { proofs: "{\\\\xPROOF}" };

const GRANT = act("grant_role", { email: "MAIL", ...APP, new_role: "reader" });

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
  act("create_app", { new_id: "NEW_ID", app_slug: "another-app", added: [] }),
  act("set_targets", { ...APP, replaced: "{origin,redirect}", removed: [], added: [] }),
  act("set_limit", APP),
  act("set_app_switch", { ...APP, setting: "disabled", is_on: "true" }),
  act("find_app_id", APP),
  act("find_addresses", { mails: "{someone@example.org}" }),
  "console_list_people(WHO, '', '', 9)",
  "console_list_invitations(WHO, '', '', 9)",
  "console_show_person(WHO, 'PERSON', null, '', 9)",
  "console_list_app_people(WHO, 'APP', '', '', 9)",
  "console_list_app_roles(WHO, 'APP')",
  "console_list_tables(WHO, '', '', '', 9)",
  "console_show_table(WHO, 'todos')",
  "console_list_pushes(WHO, 'APP', null, 9)",
  "console_show_push(WHO, 'APP', 1)",
  "console_find(WHO, 'x', 'x', 9)",
  "console_find_end(WHO, 'APP', 'todos')",
] as const;
/** Calls that require a recent sign-in. */
const SENSITIVE = [
  act("issue_key", {
    ...APP,
    new_key_id: "0000000000000000",
    key_name: "x",
    ...DIGEST,
    key_scopes: "{}",
  }),
  act("roll_key", { ...KEY, new_key_id: "0000000000000001", new_digest: BYTES, grace_s: "0" }),
  act("revoke_key", KEY),
  act("invite", { new_id: "NEW_ID", email: "xNEW_ID@example.org", mail_digest: BYTES, ...LINK }),
  act("invite_people", { people: [], link_secret_id: LINK.link_secret_id, ends_at: LINK.ends_at }),
  act("make_password_link", { ...PERSON, ...LINK }),
  act("resend_invitation", { ...PERSON, ...LINK }),
  act("withdraw_invitation", PERSON),
  act("set_console_role", { ...PERSON, new_role: "super_admin", ...PROOFS }),
  act("change_email", {
    person: "PERSON",
    ...PROOFS,
    new_email: "yNEW_ID@example.org",
    mail_digest: BYTES,
    mail_secret_id: "x",
  }),
  act("set_disabled", { ...PERSON, disabled: "false" }),
  GRANT,
  act("revoke_role", { ...PERSON, ...APP }),
  act("end_sessions", PERSON),
  act("end_session", { ...PERSON, session_id: "0000000000000000" }),
  act("end_app_sessions", APP),
  act("reset_second_factor", PERSON),
  act("delete_user", PERSON),
  "console_delete_app_step(WHO, 'APP')",
  act("transfer_table", { wanted_table: "TABLE", new_slug: "APP" }),
  act("begin_end_registration", { app_slug: "APP", wanted_table: "TABLE", expected: "{TABLE}" }),
  act("drop_table", { wanted_table: "TABLE_unused", expected: "{TABLE_unused}" }),
] as const;

/** The functions that these calls name. */
export const CONSOLE_FUNCTIONS: ReadonlySet<string> = new Set(
  [...LASTING, ...SENSITIVE, "console_log_rejection("].map((call) => call.split("(")[0] ?? ""),
);
/** The actions that these calls run. */
export const CALLED_ACTIONS: readonly string[] = [...LASTING, ...SENSITIVE].flatMap(
  (call) => /^console_act\(WHO, '(\w+)'/.exec(call)?.[1] ?? [],
);

/** A change of an account. */
const ACCOUNT = /'(?!revoke_role)\w+', '\{"person(?:_id)?":"PERSON"/;

/** Returns the call that the Console sends for a browser with these cookies. */
function callOf({ mine, victim }: Pick<World, "mine" | "victim">, jar: Jar, call: string): string {
  const proof = IDENTITY_SECRETS.current.prove("address", victim.id, victim.email);
  const complete = call
    .replace("WHO", visitorOf(jar))
    .replace("KEY", mine.key.slice(3, 19))
    .replaceAll("NEW_ID", crypto.randomUUID())
    .replace("PROOF", Buffer.from(proof).toString("hex"))
    .replace("PERSON", victim.id)
    .replace("MAIL", victim.email)
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
    `update rowhouse.sessions set proven_at = ${OLD_SIGN_IN} where id = '${id}'; select 1`,
  );
}

/** Returns the call that the Console sends to grant a role. */
export function grantCall(world: World, jar: Jar): string {
  return callOf(world, jar, GRANT);
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
