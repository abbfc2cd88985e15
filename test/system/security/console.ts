/** What the Console's login and a device's cookie can and cannot do. Each sentence stands in docs/security.md. @module */
import { expect } from "bun:test";
import { toPresented } from "../../../src/accounts/mod.ts";
import { SIGNALS } from "../../../src/db/mod.ts";
import { DEVICE_COOKIE, IDENTITY_COOKIE, SESSION_COOKIE } from "../../../src/identity/mod.ts";
import { IDENTITY_SECRETS } from "../../support/deps.ts";
import { type Jar, makePerson, signInAs, submitSignIn, visit } from "../../support/people.ts";
import { KEYS, me, type Page, PEOPLE, ROWS, type World } from "./world.ts";

export const CONSOLE: Page = {
  "The Console's login": {
    Can: {
      "act for an administrator who signed in within the last ten minutes, with both cookies of that session.":
        async (world) => {
          const jar = await signInAs(world.service, world.victim);
          await world.allows("console", [actOf(world, jar)]);
        },
    },
    Cannot: {
      "act without both cookies, or ten minutes later.": async (world) => {
        const jar = await signInAs(world.service, world.victim);
        const shared: Jar = new Map([[SESSION_COOKIE, jar.get(SESSION_COOKIE) ?? ""]]);
        await world.refuses("console", [actOf(world, shared)], SIGNALS.consoleRefused);
        const { admin } = world.service.service;
        const [id = ""] = (jar.get(SESSION_COOKIE) ?? "").split(".");
        await admin.message(
          `update rowhouse.sessions set created_at = now() - interval '10 minutes' where id = '${id}'; select 1`,
        );
        await world.refuses("console", [actOf(world, jar)], SIGNALS.signInTooOld);
      },
      "read or change a table, or call anything but the acts.": (world) =>
        world.refuses("console", [
          ...PEOPLE,
          ...KEYS,
          ...ROWS,
          "select rowhouse.set_console_role('x@example.org', 'super_admin', 'x')",
          "select rowhouse.check_console('', '', 1, 'admin', false)",
        ]),
    },
  },
  "A device's cookie": {
    Can: {
      "try the passwords of the people whose ids are in it ten times in 15 minutes, whatever strangers have used up.":
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
      "sign anybody in, or show a page.": async (world) => {
        const device = await knownDevice(world);
        expect((await me(world, `${DEVICE_COOKIE}=${device.get(DEVICE_COOKIE)}`)).status).toBe(401);
        expect((await visit(world.service, device, "/login")).text).toContain('name="password"');
      },
      "be made for somebody else without `IDENTITY_SECRET`.": async (world) => {
        const { email, id } = world.victim;
        const own = await makePerson(world.service);
        const jar = await signInAs(world.service, own);
        const forged = (jar.get(DEVICE_COOKIE) ?? "").replace(own.id, id);
        await lockOut(world, email);
        const answer = await submitSignIn(world.service, new Map([[DEVICE_COOKIE, forged]]), {
          email,
        });
        expect(answer.status).toBe(429);
        await world.service.service.admin.message("delete from rowhouse.throttle; select 1");
      },
    },
  },
};

/** The one act there is, as a browser with these cookies would ask for it. */
export function actOf({ victim, mine }: World, jar: Jar): string {
  const shown = (kind: "session" | "identity", name: string) =>
    toPresented(IDENTITY_SECRETS, kind, [jar.get(name) ?? ""]);
  return `select rowhouse.console_grant_role('${shown("session", SESSION_COOKIE)}', '${shown("identity", IDENTITY_COOKIE)}', 600, '${victim.email}', '${mine.slug}', 'reader')`;
}

async function knownDevice({ service, victim }: World): Promise<Jar> {
  const jar = await signInAs(service, victim);
  return new Map([[DEVICE_COOKIE, jar.get(DEVICE_COOKIE) ?? ""]]);
}

/** What strangers do to an address: every counter but that of devices is used up. */
export async function lockOut({ service }: World, email: string): Promise<void> {
  await submitSignIn(service, new Map(), { email, password: "not the password" });
  await service.service.admin.message(
    "update rowhouse.throttle set attempts = 1000000 where key not like 'device %'; select 1",
  );
}
