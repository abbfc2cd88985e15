/**
 * Attempts for the secrets between processes and the identity secret. The keys are the sentences of docs/security.md.
 *
 * @module
 */
import { expect } from "bun:test";
import { DEVICE_COOKIE, SESSION_COOKIE } from "../../../src/identity/mod.ts";
import { deriveLinkText, makePasswordLink } from "../../../src/records/people/mod.ts";
import { proveSignIn } from "../../../src/records/secrets/secrets.ts";
import { SIGN_IN_LIMITS, toDeviceText } from "../../../src/records/sessions/mod.ts";
import { systemRandomBytes } from "../../../src/std/random_text.ts";
import { IDENTITY_SECRETS, TEST_IDENTITY_SECRET, testDeps } from "../../support/deps.ts";
import { PASSWORD, readToken, sharedCookie, submitSignIn } from "../../support/people.ts";
import { TEST_SECRETS } from "../../support/shape.ts";
import { contextOf, sendSigned } from "../../support/signed.ts";
import { lockOut } from "./console.ts";
import { opensApps } from "./factors.ts";
import { finishCall, guesses, hashOf, LIST, me, type Page, type World } from "./world.ts";

export const SECRETS: Page = {
  "`INTERNAL_HMAC_SECRET` of the data service": {
    Can: {
      "call the data service as the gateway does, if it can reach the service: without limits, and with a key's proof that it knows.":
        async (world) => {
          const { status, text } = await sendSigned(world.data.url, {
            audience: "data",
            target: LIST,
            context: contextOf(world.other),
          });
          expect([status, text]).toEqual([200, expect.stringContaining("theirs")]);
        },
    },
    Cannot: {
      "read, write or push anything there without a key's proof.": async (world) => {
        for (const key of ["rh_made.up", world.mine.key]) {
          const context = contextOf(
            { id: world.other.id, key },
            { scopes: ["data:read", "data:write", "schema:push"] },
          );
          const push = {
            steps: [{ kind: "define", definition: { version: 1, tables: [] } }],
            dryRun: true,
          };
          for (const call of [
            { target: LIST },
            { target: LIST, body: { title: "x" } },
            { target: LIST, body: { title: 1 } },
            { target: "/v1/data/schema" },
            { target: "/v1/data/schema", body: push },
          ])
            expect(
              (await sendSigned(world.data.url, { audience: "data", context, ...call })).status,
            ).toBe(401);
        }
      },
      "sign a request to the identity service.": async (world) => {
        const context = contextOf(undefined);
        const call = { audience: "identity", target: "/v1/auth/me", context } as const;
        expect(
          (await sendSigned(world.identity.url, { ...call, secret: TEST_SECRETS.data })).text,
        ).toContain("invalid_signature");
        expect((await sendSigned(world.identity.url, call)).text).not.toContain(
          "invalid_signature",
        );
      },
    },
  },
  "`INTERNAL_HMAC_SECRET` of the identity service": {
    Can: {
      "call the identity service as the gateway does, if it can reach the service: sign-in attempts count for any address that it names.":
        async (world) => {
          const before = await countClients(world);
          await signInSigned(world, "192.0.2.77");
          await signInSigned(world, "192.0.2.78");
          expect((await countClients(world)) - before).toBe(2);
        },
    },
    Cannot: {
      "learn who is signed in, or end a session, without the session's cookie.": async (world) => {
        const context = contextOf(undefined);
        const signed = { audience: "identity", context } as const;
        expect(
          (await sendSigned(world.identity.url, { ...signed, target: "/v1/auth/me" })).status,
        ).toBe(401);
        await sendSigned(world.identity.url, { ...signed, target: "/v1/auth/logout", body: "" });
        expect((await me(world, sharedCookie(world.jar))).status).toBe(200);
      },
      "sign a request to the data service.": async (world) => {
        const call = {
          audience: "data",
          target: LIST,
          context: contextOf(world.other),
          secret: TEST_SECRETS.identity,
        } as const;
        expect((await sendSigned(world.data.url, call)).text).toContain("invalid_signature");
      },
    },
  },
  "`IDENTITY_SECRET`": {
    Can: {
      "with a dump, guess passwords.": async (world) =>
        expect(await guesses(world, PASSWORD)).toEqual({ withSecret: true, without: false }),
      "with a dump, use the password links in the dump.": async (world) => {
        const { linkText } = await makePasswordLink(
          testDeps(world.service.service),
          world.victim.email,
        );
        const { rows } = await world.tryAs(
          "admin",
          `select id, extract(epoch from expires_at)::int4 as at from rowhouse.password_links where user_id = '${world.victim.id}'`,
        );
        const [{ id, at } = {}] = rows;
        expect(deriveLinkText(IDENTITY_SECRETS.current, String(id), Number(at))).toBe(linkText);
      },
      "with a dump, generate the codes of authenticator apps.": async (world) => opensApps(world),
      "with the serving login of one process or of the identity service, sign in as any person.":
        async (world) => {
          for (const login of ["all", "identity"] as const) {
            const proof = proveSignIn(
              IDENTITY_SECRETS,
              world.victim.id,
              await hashOf(world, login, world.victim),
            );
            expect((await world.tryAs(login, finishCall(world.victim, proof ?? ""))).rows).toEqual([
              { is_done: true },
            ]);
          }
        },
      "invent devices for a person whose id it knows, and try ten passwords in 15 minutes with each.":
        async (world) => {
          const { email, id } = world.victim;
          await lockOut(world, email);
          for (const _ of ["one device", "another"]) {
            const jar = new Map([[DEVICE_COOKIE, makeDevice(id)]]);
            const wrong = { email, password: "a guess" };
            for (let count = 0; count < SIGN_IN_LIMITS.pair; count++)
              expect((await submitSignIn(world.service, new Map(jar), wrong)).status).toBe(422);
            expect((await submitSignIn(world.service, new Map(jar), wrong)).status).toBe(429);
          }
          await world.service.service.admin.message("delete from rowhouse.throttle; select 1");
        },
    },
    Cannot: {
      "sign in as a person, or read anything, without a dump or a login.": async (world) => {
        const [id] = (world.jar.get(SESSION_COOKIE) ?? "").split(".");
        const proof = IDENTITY_SECRETS.current.prove("session cookie", id ?? "");
        for (const secret of [
          TEST_IDENTITY_SECRET,
          Buffer.from(proof).toString("hex"),
          Buffer.from(proof).toString("hex").slice(0, 32),
        ])
          expect((await me(world, `${SESSION_COOKIE}=${id}.${secret}`)).status).toBe(401);
      },
    },
  },
};

/** Returns the cookie of a device without any sign-in of the person. */
function makeDevice(userId: string): string {
  const deps = { identitySecrets: IDENTITY_SECRETS, randomBytes: systemRandomBytes };
  return toDeviceText(deps, undefined, { userId, hasFactor: true });
}

async function countClients(world: World): Promise<number> {
  const { rows } = await world.tryAs(
    "admin",
    "select count(*)::int4 as count from rowhouse.throttle where starts_with(key, 'client ')",
  );
  return Number(rows[0]?.["count"]);
}

/** Sends a sign-in attempt directly to the identity service, signed with the gateway's secret. */
async function signInSigned(world: World, address: string): Promise<void> {
  const { host, origin } = new URL(world.identity.url);
  const context = contextOf(undefined, { address, host });
  const call = { audience: "identity", target: "/login", context } as const;
  const page = await sendSigned(world.identity.url, call);
  const [cookie = ""] = page.headers.getSetCookie().map((line) => line.split(";")[0] ?? "");
  const fields = {
    form_token: readToken(page.text),
    email: world.victim.email,
    password: "a guess",
  };
  const body = new URLSearchParams(fields).toString();
  const response = await sendSigned(world.identity.url, {
    ...call,
    body,
    headers: { origin, cookie },
  });
  expect(response.status).toBe(422);
}
