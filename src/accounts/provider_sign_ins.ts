/** The database's part of a sign-in by a provider: begun once for each answer of the provider, finished with a session. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import type { ClaimedRecord } from "./claimed_roles.ts";
import type { IdentitySecrets } from "./identity_secrets.ts";
import type { NewPending } from "./pending_sign_ins.ts";
import { type Linked, makeLinkRecord, type Subject } from "./provider_links.ts";
import { toDigest } from "./secret_text.ts";
import { type SessionStart, toSessionValues } from "./session_start.ts";
import { type Admission, type FactorRule, SIGN_IN_LIMITS, toClient } from "./sign_in_attempts.ts";

/** Counts an attempt; `isFirst` is false where this answer of a provider was tried before. */
export async function beginProviderSignIn(
  deps: { db: Database },
  { state, address }: { state: string; address: string },
): Promise<{ waitS: number; isFirst: boolean }> {
  const { networks, bounds } = toClient(address);
  const [row] = await deps.db.query<{ wait_s: number; is_first: boolean }>(
    `select wait_s, is_first from rowhouse.begin_provider_sign_in($1, string_to_array($2, ','),
      string_to_array($3, ',')::int4[], $4)`,
    [toDigest(state), networks.join(","), bounds.join(","), SIGN_IN_LIMITS.windowS],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) throw new Error("The sign-in function gave no row");
  return { waitS: row.wait_s, isFirst: row.is_first };
}

export type ProviderFinish = SessionStart &
  Subject & {
    linked: Linked;
    /** The provider's name. */
    provider: string;
    /** In place of the session, for whoever has a second factor. */
    pending: NewPending;
    factorRule: FactorRule;
    /** When the person proved it to the provider, in seconds; unknown is long ago. */
    provenAtS: number | undefined;
    address: string;
    /** What the answer was begun with. */
    state: string;
    /** The roles that the provider's claims give now: others that it gave are taken. */
    claimed: readonly ClaimedRecord[];
  };

/** Makes the session, or what waits, and the link's digest anew; `wrong` if the person was disabled or unlinked meanwhile. */
export async function finishProviderSignIn(
  deps: { db: Database; identitySecrets: IdentitySecrets },
  finish: ProviderFinish,
): Promise<Admission> {
  const { linked, pending, issuer, subject } = finish;
  const fresh = makeLinkRecord(deps, { issuer, subject }, linked.userId);
  const [row] = await deps.db.query<{ outcome: Admission }>(
    `select rowhouse.finish_provider_sign_in($1, $2, $3, decode($4, 'hex'), decode($5, 'hex'), $6, $7,
      $8, decode($9, 'hex'), decode($10, 'hex'), $11, $12, coalesce(to_timestamp($13), '-infinity'),
      $14, string_to_array($15, ','), $16, $17, $18, $19, $20::text::jsonb, $21, decode($22, 'hex'), $23) as outcome`,
    [
      linked.userId,
      issuer,
      subject,
      linked.proof,
      fresh.digest,
      fresh.secretId,
      finish.presented,
      ...toSessionValues(finish),
      finish.provenAtS ?? null,
      toDigest(finish.state),
      toClient(finish.address).networks.join(","),
      finish.provider,
      finish.address,
      finish.deviceName,
      finish.isKnownDevice,
      JSON.stringify(finish.claimed),
      pending.id,
      pending.digest,
      finish.factorRule,
    ],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  return row?.outcome ?? "wrong";
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
