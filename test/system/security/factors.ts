/** Attempts for a password without the second factor. The keys are the sentences of docs/security.md. @module */
import { expect } from "bun:test";
import { SIGNALS } from "../../../src/db/mod.ts";
import {
  IDENTITY_COOKIE,
  PENDING_COOKIE,
  SESSION_COOKIE,
  setPasswordByLink,
} from "../../../src/identity/mod.ts";
import { makePasswordLink } from "../../../src/records/people/mod.ts";
import { makeIdentitySecrets, toPresented } from "../../../src/records/secrets/mod.ts";
import { openTotp } from "../../../src/records/sessions/mod.ts";
import { FACTOR_GRACE_S } from "../../../src/std/limits.ts";
import { IDENTITY_SECRETS, testDeps } from "../../support/deps.ts";
import { type Jar, makePerson, OLD_SIGN_IN, PASSWORD, visit } from "../../support/people.ts";
import { enrolPerson, enterFactor, passPassword } from "../../support/second_factor.ts";
import { type Login, me, type Page, type World } from "./world.ts";

export const FACTORS: Page = {
  "A password without the second factor": {
    Can: {
      "learn that a second factor exists, and try five codes in 15 minutes, max 100 in 30 days.":
        async (world) => {
          const { person } = await enrolPerson(world.service, await makePerson(world.service));
          const { jar, location } = await passPassword(world.service, person);
          expect(location).toBe("/second-factor");
          for (const status of [422, 422, 422, 422, 422, 429])
            expect((await enterFactor(world.service, jar, { code: "000000" })).status).toBe(status);
          await world.service.service.admin.message(
            `delete from rowhouse.throttle where key not like '% lasting %';
          update rowhouse.throttle set attempts = 100 where key = '${person.id} lasting totp'; select 1`,
          );
          expect((await enterFactor(world.service, jar, { code: "000000" })).status).toBe(429);
        },
    },
    Cannot: {
      "open a page or an app as that person.": async (world) => {
        const { person } = await enrolPerson(world.service, await makePerson(world.service));
        const { jar } = await passPassword(world.service, person);
        const waiting = jar.get(PENDING_COOKIE) ?? "";
        for (const name of [SESSION_COOKIE, IDENTITY_COOKIE]) jar.set(name, waiting);
        expect((await visit(world.service, new Map(jar), "/account")).status).toBe(303);
        expect((await me(world, `${SESSION_COOKIE}=${waiting}`)).status).toBe(401);
      },
      "remove the second factor with a link that sets a new password.": async (world) => {
        const { person } = await enrolPerson(world.service, await makePerson(world.service));
        const { service } = world.service;
        const deps = { ...testDeps(service), db: service.db };
        const { linkText } = await makePasswordLink(deps, person.email);
        expect(await setPasswordByLink(deps, linkText, PASSWORD)).toBe(true);
        expect((await passPassword(world.service, person)).location).toBe("/second-factor");
      },
    },
  },
};

/** Expects that a login that serves people can read only which people have a second factor. */
export async function keepsFactors(world: World, login: Login): Promise<void> {
  const { person, jar } = await enrolPerson(world.service, await makePerson(world.service));
  const { jar: waiting } = await passPassword(world.service, person);
  const [id = ""] = (waiting.get(PENDING_COOKIE) ?? "").split(".");
  await world.rejects(login, [
    ...["totp_factors", "recovery_codes", "passkeys", "pending_sign_ins"].flatMap((table) => [
      `select from rowhouse.${table}`,
      `delete from rowhouse.${table}`,
    ]),
    `select rowhouse.use_factor('${person.id}', 'totp', null, null, 0, null, null, null)`,
    `update rowhouse.sessions set second_factor_at = now()`,
    "select rowhouse.reset_second_factor('x@example.org', 'x')",
  ]);
  for (const proof of ["", `${id}.${"00".repeat(32)}`, `${id}.`]) {
    const { rows } = await world.tryAs(login, finishCall(proof));
    expect(rows).toEqual([{ outcome: "no_sign_in" }]);
  }
  const session = toPresented(IDENTITY_SECRETS, "session", [jar.get(SESSION_COOKIE) ?? ""]);
  const visitor = `('${session}', '', 600, '')::rowhouse.visitor`;
  await world.rejects(
    login,
    [
      `select rowhouse.remove_own_totp(${visitor})`,
      `select rowhouse.put_own_recovery_codes(${visitor}, '${person.id}', '', 'x', '')`,
      `select rowhouse.put_own_totp(${visitor}, '${person.id}', 'x', sha256('x'), 'x', 0, '', '')`,
    ],
    SIGNALS.notSignedIn,
  );
}

function finishCall(proof: string): string {
  return `select rowhouse.finish_second_factor('${proof}', 'recovery', null, array['x'::bytea], 0, null, null, null, '',
    'aaaaaaaaaaaaaaaa', sha256('s'), sha256('i'), 'x', 600, 'client x', null, '', '') as outcome`;
}

/** Expects that a dump contains the rows of factors, but not the secrets that generate codes. */
export async function keepsCodes(world: World, dumpAll: () => Promise<string>): Promise<void> {
  const { person, key, codes } = await enrolPerson(world.service, await makePerson(world.service));
  const dump = await dumpAll();
  expect(dump).toContain(person.email);
  for (const secret of [key, ...codes, ...codes.map((code) => code.replaceAll("-", ""))])
    expect([secret.length > 11, dump.includes(secret)]).toEqual([true, false]);
  const stored = await readSealed(world, person.id);
  const thief = makeIdentitySecrets(["the secret of an attacker with only the dump"]);
  const guessed = { ...stored, secretId: thief.current.id };
  expect(openTotp({ identitySecrets: thief }, person.id, guessed)).toBeUndefined();
  // The stored value cannot be opened for another person.
  expect(openTotp({ identitySecrets: IDENTITY_SECRETS }, world.victim.id, stored)).toBeUndefined();
}

/** Expects that a dump and the secret reveal the authenticator's key. */
export async function opensApps(world: World): Promise<void> {
  const { person, key } = await enrolPerson(world.service, await makePerson(world.service));
  const stored = await readSealed(world, person.id);
  expect(openTotp({ identitySecrets: IDENTITY_SECRETS }, person.id, stored)?.key).toBe(key);
}

async function readSealed({ tryAs }: World, userId: string) {
  const { rows } = await tryAs(
    "admin",
    `select encode(sealed_secret, 'hex') as sealed, secret_id from rowhouse.totp_factors where user_id = '${userId}'`,
  );
  return { sealed: String(rows[0]?.["sealed"]), secretId: String(rows[0]?.["secret_id"]) };
}

/** Tries the calls as an administrator whose second factor is old or missing, and as one who postponed it for too long. */
export async function asksForFactor(
  world: World,
  calls: { lasting: (jar: Jar) => string[]; sensitive: (jar: Jar) => string[] },
): Promise<void> {
  const own = await makePerson(world.service, { consoleRole: "super_admin" });
  const { jar } = await enrolPerson(world.service, own);
  const write = (text: string) => world.service.service.admin.message(`${text}; select 1`);
  const showAt = (at: string) =>
    write(`update rowhouse.sessions set second_factor_at = ${at} where user_id = '${own.id}'`);
  const every = [...calls.lasting(jar), ...calls.sensitive(jar)];
  await showAt(OLD_SIGN_IN);
  await world.allows("console", calls.lasting(jar));
  await world.rejects("console", calls.sensitive(jar), SIGNALS.signInTooOld);
  await showAt("null");
  await world.rejects("console", every, SIGNALS.signInTooOld);
  await write(
    `delete from rowhouse.totp_factors where user_id = '${own.id}';
    update rowhouse.users set factor_asked_at = now() - interval '${FACTOR_GRACE_S} seconds' where id = '${own.id}'`,
  );
  await world.rejects("console", every, SIGNALS.secondFactorNeeded);
}
