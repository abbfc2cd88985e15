/** Attempts for the Console's login and the device cookie. The keys are the sentences of docs/security.md. @module */
import { expect } from "bun:test";
import { SIGNALS } from "../../../src/db/mod.ts";
import { DEVICE_COOKIE, IDENTITY_COOKIE, SESSION_COOKIE } from "../../../src/identity/mod.ts";
import { endRegistration } from "../../../src/records/apps/mod.ts";
import { toPresented } from "../../../src/records/secrets/mod.ts";
import { defineSchema, t } from "../../../src/schema/mod.ts";
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
import { CONSOLE_CALLS, type ConsoleCall, renderAct } from "../../support/samples/calls.ts";
import type { TestApp } from "../../support/service.ts";
import { asksForFactor } from "./factors.ts";
import { KEYS, me, type Page, PEOPLE, ROWS, type World } from "./world.ts";

export const CONSOLE: Page = {
  "The Console's login": {
    Can: {
      [`with both cookies of an administrator, read apps, tables, pushes, people, keys without secrets, failed requests, the history of rows and the audit log, change apps, and open an app's rows for ${toDurationText(ROWS_KEY_LIFE_S)}.`]:
        async (world) => {
          const jar = await signInAs(world.service, world.victim);
          await ageSession(world, jar);
          expect(LASTING.length).toBeGreaterThan(20);
          await world.allows("console", render(world, jar, LASTING));
        },
      "with both cookies of an administrator with a recent sign-in, create, rotate and revoke keys, change people, their roles and sessions, transfer, leave and drop tables, and delete apps.":
        async (world) => {
          const jar = await signInAs(world.service, world.victim);
          // No other app uses any of its tables.
          const owner = await makeOwner(world);
          const victim = await makePerson(world.service);
          expect(SENSITIVE.length).toBeGreaterThan(15);
          await world.allows("console", render({ ...owner, victim }, jar, SENSITIVE));
        },
      "record, max 100 times an hour, that an action of a person was rejected, with both cookies of the person.":
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
          await world.rejects("console", render(world, shared), SIGNALS.consoleRejected);
          await ageSession(world, jar);
          await world.rejects("console", render(world, jar, SENSITIVE), SIGNALS.signInTooOld);
        },
      "grant a Console role, or change an account with a Console role, for an `admin` who is not a `super_admin`.":
        async (world) => {
          const own = await makePerson(world.service, { consoleRole: "admin" });
          const jar = await signInAs(world.service, own);
          expect(ACCOUNT.length).toBeGreaterThan(5);
          const promoting = CONSOLE_CALLS.filter(({ inputs }) =>
            inputs.includes("new_console_role"),
          );
          expect(promoting.length).toBeGreaterThan(0);
          await world.rejects(
            "console",
            [
              ...render(world, jar, ACCOUNT),
              ...render(world, jar, promoting, { new_console_role: "admin" }),
            ],
            SIGNALS.superAdminNeeded,
          );
        },
      [`perform a sensitive action if the person has not presented the second factor recently, or any action if the session has not presented it, or if the person has postponed a second factor for more than ${toDurationText(FACTOR_GRACE_S)}.`]:
        (world) =>
          asksForFactor(world, {
            lasting: (jar) => render(world, jar, LASTING),
            sensitive: (jar) => render(world, jar, SENSITIVE),
          }),
      "read or change a table, or call anything but these reads and actions.": async (world) => {
        const jar = await signInAs(world.service, world.victim);
        // The dispatcher knows no other action, not even of an operator.
        for (const action of ["rename_app", "create_user", "confirm_addresses", "", "log"])
          await world.rejects(
            "console",
            [renderAct(visitorOf(jar), action, { app_slug: world.mine.slug })],
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

/** Calls that any live session of an administrator allows. */
const LASTING = CONSOLE_CALLS.filter(({ needsRecentSignIn }) => !needsRecentSignIn);
/** Calls that require a recent sign-in. */
const SENSITIVE = CONSOLE_CALLS.filter(({ needsRecentSignIn }) => needsRecentSignIn);
/** Changes of an account. An administrator can end another administrator's role on an app. */
const ACCOUNT = SENSITIVE.filter(
  ({ name, inputs }) => inputs.includes("person") && name !== "revoke_role",
);

/** Returns the calls that the Console sends for a browser with these cookies. */
function render(
  { mine, victim, table = "todos" }: Pick<World, "mine" | "victim"> & { table?: string },
  jar: Jar,
  calls: readonly ConsoleCall[] = CONSOLE_CALLS,
  values: Readonly<Record<string, string>> = {},
): string[] {
  const subject = { app: mine, table, person: victim };
  return calls.map((call) => call.render(visitorOf(jar), subject, values));
}

/** Creates an app that owns a table in use and an unused table. */
async function makeOwner({ service }: World): Promise<{ mine: TestApp; table: string }> {
  const mine = await service.makeApp();
  const table = mine.slug.replaceAll("-", "_");
  const unused = `${table}_unused`;
  const columns = { title: t.string() };
  await service.pushSchema(mine, defineSchema({ [table]: columns, [unused]: columns }));
  await withDatabase(service.database.rowsUrl, (rows) =>
    endRegistration(
      { admin: service.service.admin, rows },
      { slug: mine.slug, table: unused, expected: [unused] },
    ),
  );
  return { mine, table };
}

async function ageSession({ service }: World, jar: Jar): Promise<void> {
  const [id = ""] = (jar.get(SESSION_COOKIE) ?? "").split(".");
  await service.service.admin.message(
    `update rowhouse.sessions set proven_at = ${OLD_SIGN_IN} where id = '${id}'; select 1`,
  );
}

/** Returns every call of an administrator for a browser with these cookies. */
export function consoleCalls(world: World, jar: Jar): string[] {
  return render(world, jar);
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
  const [row] = await service.query<{ count: number }>(
    "select count(*)::integer as count from rowhouse.audit where action = 'console_rejected' and actor = $1",
    [id],
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
