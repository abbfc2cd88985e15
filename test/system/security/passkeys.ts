/** Attempts for a passkey, and for a database without a passkey. The keys are the sentences of docs/security.md. @module */
import { expect } from "bun:test";
import { toUserHandle } from "../../../src/identity/passkeys/form.tsx";
import { listEvents } from "../../support/audit_events.ts";
import { type Lies, makeAuthenticator } from "../../support/authenticator.ts";
import {
  type Holder,
  makeHolder,
  PASSKEYS,
  readAsked,
  sendPasskey,
  submitPasskey,
} from "../../support/passkeys.ts";
import { readHidden, visit } from "../../support/people.ts";
import type { TestService } from "../../support/service.ts";
import type { Page, World } from "./world.ts";

/** Returns the statuses of sign-ins with only a passkey, each in a new browser. */
export async function tryPasskeys(
  service: TestService,
  { authenticator }: Pick<Holder, "authenticator">,
  lies: readonly Lies[],
): Promise<number[]> {
  const statuses: number[] = [];
  for (const lie of lies)
    statuses.push((await submitPasskey(service, new Map(), { authenticator, lies: lie })).status);
  return statuses;
}

/** Expects that the service rejects a passkey whose row was changed with full write access to the table. */
export async function plantsNoPasskey({ service }: World): Promise<void> {
  const [owner, victim] = [await makeHolder(service), await makeHolder(service)];
  const asVictim = { userHandle: toUserHandle(victim.person.id) };
  await service.query("update rowhouse.passkeys set user_id = $1 where user_id = $2", [
    victim.person.id,
    owner.person.id,
  ]);
  expect(await tryPasskeys(service, owner, [asVictim, {}])).toEqual([422, 422]);
  expect(await listEvents(service, victim.person.id)).toContain("sign_in_rejected passkey planted");
}

export const PASSKEY: Page = {
  "A passkey": {
    Can: {
      "sign in as its owner, without a password if the device has verified its user.": async ({
        service,
      }) => {
        const holder = await makeHolder(service);
        expect(await tryPasskeys(service, holder, [{}, { isVerified: false }])).toEqual([303, 422]);
      },
    },
    Cannot: {
      "sign in twice with one response, or with a response for another host or from a frame.":
        async ({ service }) => {
          const holder = await makeHolder(service);
          const jar = new Map<string, string>();
          const page = await visit(service, jar, "/login");
          const passkey = holder.authenticator.get(readAsked(page) ?? { challenge: "" });
          const [once, twice] = [new Map(jar), new Map(jar)];
          expect((await sendPasskey(service, once, { page, passkey })).status).toBe(303);
          expect((await sendPasskey(service, twice, { page, passkey })).status).toBe(422);
          const lies = [
            { origin: "http://localhost.example.org" },
            { rpId: "example.org" },
            { client: { crossOrigin: true } },
          ];
          expect(await tryPasskeys(service, holder, lies)).toEqual([422, 422, 422]);
        },
      "sign in as another person, or after its owner has removed it.": async ({ service }) => {
        const [owner, other] = [await makeHolder(service), await makeHolder(service)];
        const asOther = {
          credentialId: other.authenticator.credentialId,
          userHandle: toUserHandle(other.person.id),
        };
        expect(await tryPasskeys(service, owner, [asOther])).toEqual([422]);
        const page = await visit(service, owner.jar, PASSKEYS);
        const { form_token = "", ref = "" } = readHidden(page.text);
        const fields = { form_token, ref, act: "remove" };
        await visit(service, owner.jar, PASSKEYS, { fields });
        expect(await tryPasskeys(service, owner, [{}])).toEqual([422]);
      },
      "sign in undetected from a copy, if the device counts its uses.": async ({ service }) => {
        const holder = await makeHolder(service);
        expect(await tryPasskeys(service, holder, [{ count: 2 }, { count: 2 }])).toEqual([
          303, 422,
        ]);
        expect(await listEvents(service, holder.person.id)).toContain(
          "sign_in_rejected passkey counter",
        );
      },
    },
  },
};

/** Expects that the stored public key cannot sign. */
export async function dumpsNoPasskey({ service }: World): Promise<void> {
  const victim = await makeHolder(service);
  const thief = makeAuthenticator(service.url);
  const asVictim = {
    credentialId: victim.authenticator.credentialId,
    userHandle: toUserHandle(victim.person.id),
  };
  expect(await tryPasskeys(service, { authenticator: thief }, [asVictim])).toEqual([422]);
}
