/** The database's part of a sign-in by a provider: begun once for each answer of the provider, finished with a session. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import type { IdentitySecrets } from "./identity_secrets.ts";
import { type Linked, makeLinkRecord, type Subject } from "./provider_links.ts";
import { toDigest } from "./secret_text.ts";
import type { NewSession } from "./session_text.ts";
import { SIGN_IN_LIMITS, toClientKeys } from "./sign_in_attempts.ts";

/** Counts an attempt; `isFirst` is false where this answer of a provider was tried before. */
export async function beginProviderSignIn(
  deps: { db: Database },
  { state, address }: { state: string; address: string },
): Promise<{ waitS: number; isFirst: boolean }> {
  const { keys, bounds } = toClientKeys("provider client", address);
  const [row] = await deps.db.query<{ wait_s: number; is_first: boolean }>(
    `select wait_s, is_first from rowhouse.begin_provider_sign_in($1, string_to_array($2, ','),
      string_to_array($3, ',')::int4[], $4)`,
    [`state ${toDigest(state)}`, keys.join(","), bounds.join(","), SIGN_IN_LIMITS.windowS],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) throw new Error("The sign-in function gave no row");
  return { waitS: row.wait_s, isFirst: row.is_first };
}

export type ProviderFinish = Subject & {
  linked: Linked;
  /** The provider's name. */
  provider: string;
  /** Sessions that the browser presented: they end. */
  presented: string;
  session: NewSession;
  sessionMaxS: number;
  /** When the person proved it to the provider, in seconds; unknown is long ago. */
  provenAtS: number | undefined;
  address: string;
  /** What kind of browser it is, such as `Firefox on Linux`. */
  deviceName: string;
  /** Whether this very person has signed in on this device before. */
  isKnownDevice: boolean;
};

/** Makes the session, and the link's digest anew; false if the person was disabled or unlinked meanwhile. */
export async function finishProviderSignIn(
  deps: { db: Database; identitySecrets: IdentitySecrets },
  finish: ProviderFinish,
): Promise<boolean> {
  const { linked, session, issuer, subject } = finish;
  const fresh = makeLinkRecord(deps, { issuer, subject }, linked.userId);
  const [row] = await deps.db.query<{ is_done: boolean }>(
    `select rowhouse.finish_provider_sign_in($1, $2, $3, decode($4, 'hex'), decode($5, 'hex'), $6, $7,
      $8, decode($9, 'hex'), decode($10, 'hex'), $11, $12, coalesce(to_timestamp($13), '-infinity'),
      string_to_array($14, ','), $15, $16, $17, $18) as is_done`,
    [
      linked.userId,
      issuer,
      subject,
      linked.proof,
      fresh.digest,
      fresh.secretId,
      finish.presented,
      session.id,
      session.sessionDigest,
      session.identityDigest,
      session.secretId,
      finish.sessionMaxS,
      finish.provenAtS ?? null,
      toClientKeys("provider client", finish.address).keys.join(","),
      finish.provider,
      finish.address,
      finish.deviceName,
      finish.isKnownDevice,
    ],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  return row?.is_done === true;
}

/** Notes that a provider's answer let nobody in, and why: a word for operators, never what was sent. */
export async function noteRefusedSignIn(
  deps: { db: Database },
  refused: { provider: string; reason: string; userId?: string | undefined; from: string },
): Promise<void> {
  const { provider, reason, userId, from } = refused;
  await deps.db.query(
    `insert into rowhouse.audit (actor, action, user_id, details, client)
    values ('sign-in', 'sign_in_refused', $1, jsonb_build_object('provider', $2::text, 'reason', $3::text), nullif($4, ''))`,
    [userId ?? null, provider, reason, from],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
}
