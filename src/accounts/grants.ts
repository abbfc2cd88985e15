/** Grants: one role per person and app, given and taken by an operator. Nothing but the row grants access. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import { ROLE_PATTERN } from "../std/stored_text.ts";
import { OPERATOR } from "./audit.ts";
import { readEmail } from "./email.ts";
import { unknownApp } from "./keys.ts";
import { unknownUser } from "./users.ts";

export const ROLE = new RegExp(ROLE_PATTERN);

export type GrantOptions = { email: string; slug: string; role: string };

/**
 * Gives a role on an app, replacing the one before.
 *
 * @throws {Problem} invalid_request — the role is malformed, or nobody has this address; unknown_app
 */
export async function grantRole(deps: { admin: Database }, options: GrantOptions): Promise<void> {
  const email = readEmail(options.email);
  checkRole(options.role);
  const [row] = await deps.admin.query<Found>(
    `with ${FOUND}, granted as (
      insert into rowhouse.grants (user_id, app_id, role) select user_id, app_id, $3 from found
      where user_id is not null and app_id is not null
      on conflict (user_id, app_id) do update set role = excluded.role, granted_at = now()
      returning user_id
    ), noted as (
      insert into rowhouse.audit (actor, action, user_id, app, details)
      select $4, 'grant', user_id, $2, jsonb_build_object('role', $3::text) from granted
    )
    select user_id is not null as has_user, app_id is not null as has_app from found`,
    [email, options.slug, options.role, OPERATOR],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  checkFound(row, email, options.slug);
}

/** @throws {Problem} invalid_request — the text is no role on an app */
export function checkRole(role: string): void {
  if (ROLE.test(role) && role !== "super_admin") return;
  throw new Problem("invalid_request", {
    message: `Cannot grant the role ${quote(role)}: must match ${ROLE.source}, and super_admin is a Console role`,
  });
}

/**
 * Takes away the role on an app; returns whether there was one.
 *
 * @throws {Problem} invalid_request — nobody has this address; unknown_app
 */
export async function revokeRole(
  deps: { admin: Database },
  options: Omit<GrantOptions, "role">,
): Promise<boolean> {
  const email = readEmail(options.email);
  const [row] = await deps.admin.query<Found & { is_done: boolean }>(
    `with ${FOUND}, revoked as (
      delete from rowhouse.grants using found
      where grants.user_id = found.user_id and grants.app_id = found.app_id
      returning grants.user_id, grants.role
    ), noted as (
      insert into rowhouse.audit (actor, action, user_id, app, details)
      select $3, 'revoke', user_id, $2, jsonb_build_object('role', role) from revoked
    )
    select user_id is not null as has_user, app_id is not null as has_app, exists (select from revoked) as is_done
    from found`,
    [email, options.slug, OPERATOR],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  checkFound(row, email, options.slug);
  return row?.is_done === true;
}

type Found = { has_user: boolean; has_app: boolean };

/** `$1` an address, `$2` a slug. */
const FOUND = `found as (
      select (select id from rowhouse.users where email = $1) as user_id,
        (select id from rowhouse.apps where slug = $2) as app_id
    )`;

function checkFound(row: Found | undefined, email: string, slug: string): void {
  if (row?.has_user !== true) throw unknownUser(email);
  if (!row.has_app) throw unknownApp(slug);
}
