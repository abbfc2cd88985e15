/**
 * Keys of people for pages: both cookies of a session are exchanged for a key of one person, one app and this session. One
 * statement checks everything and locks what it depends on, so that a concurrent revocation also ends the new key.
 *
 * @module
 */
import { call } from "../../db/mod.ts";
import type { RandomBytes } from "../../std/random_text.ts";
import type { PageCookies } from "../actions/action.ts";
import { makeKeyText, toProof, toProofDigest } from "../apps/key_text.ts";
import { proveGrantedRole } from "../people/roles.ts";
import { type IdentityUser, type SessionDeps, toUser } from "./sessions.ts";

type OpenDeps = SessionDeps & { randomBytes: RandomBytes; keyPrefix: string };

type OpenOptions = {
  cookies: PageCookies & { from: string };
  slug: string;
  origin: string;
  /** Whether everyone needs a second factor. */
  demandsFactor: boolean;
};

type OpenedKey = {
  /** Whether the browser presented several live sessions, which count as no session. */
  isConflict: boolean;
  /** The person of both cookies, with the role on the app. */
  user: IdentityUser | undefined;
  /** Whether the app exists and is enabled. */
  isAppKnown: boolean;
  /** How long the person must wait for the next key of the app, in seconds. */
  waitS: number | undefined;
  /** `undefined` without a role, or if the app's pages may not read rows from this origin. */
  key: { text: string; expiresInS: number } | undefined;
};

/** The first answer has the role that a provider's claim gave, the second call proves that this service wrote it. */
export async function openPersonKey(deps: OpenDeps, options: OpenOptions): Promise<OpenedKey> {
  const first = await open(deps, options, undefined);
  const { on, id } = first.person ?? {};
  if (on == null || on.isAdministrator || on.grant === null || id === undefined) return first;
  const [, provider] = on.grant;
  if (provider === null || first.user?.role == null) return first;
  const proof = proveGrantedRole(deps.identitySecrets, { userId: id, appId: on.appId }, on.grant);
  return await open(deps, options, proof);
}

type Person = Parameters<typeof toUser>[1];

async function open(
  deps: OpenDeps,
  { cookies, slug, origin, demandsFactor }: OpenOptions,
  proof: Uint8Array | undefined,
): Promise<OpenedKey & { person: Person | undefined }> {
  const key = makeKeyText(deps.keyPrefix, deps.randomBytes);
  const found = await call(deps.db, "open_person_key", {
    session_cookie: cookies.session,
    identity_cookie: cookies.identity,
    idle_s: deps.sessionIdleS,
    client_address: cookies.from,
    app_slug: slug,
    page_origin: origin,
    demands_factor: demandsFactor,
    role_proof: proof,
    new_key_id: key.keyId,
    new_digest: toProofDigest(toProof(key.secret)),
  });
  const person = (found.person ?? undefined) as Person | undefined;
  const { life_s: expiresInS } = found;
  return {
    isConflict: found.live > 1,
    person,
    user: person && toUser(deps, person),
    isAppKnown: found.is_app_known,
    waitS: found.wait_s ?? undefined,
    key: expiresInS === null ? undefined : { text: key.text, expiresInS },
  };
}
