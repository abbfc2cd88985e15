/**
 * Short checks of `rowhouse doctor`: roles from providers' claims, leftovers of `dev`, mails, outward requests and
 * connections.
 *
 * @module
 */

import { type Database, readRows } from "../../db/mod.ts";
import { discover, type ProviderSettings } from "../../identity/mod.ts";
import { type MailAttempt, type MailSettings, tryServer } from "../../mail/mod.ts";
import { toLogFields } from "../../observe.ts";
import type { MailState } from "../../records/mails/mod.ts";
import {
  countClaimedRoles,
  type DevLeftovers,
  findClaimedApps,
  findDevLeftovers,
} from "../../records/people/mod.ts";
import { showCount } from "../../std/count.ts";
import { toDurationText } from "../../std/duration.ts";
import { GIVEN_UP_LIFE_S, MAIL_PAUSE_S } from "../../std/limits.ts";
import { quoteForShell } from "../../std/quote.ts";
import { type CheckResult, pass, warn } from "../check_result.ts";
import { readsPeople } from "../setting_checks.ts";

/** A warning for each provider with rules for unknown or disabled apps. The login of `db` can read apps. */
export async function checkClaimedApps(
  db: Database,
  providers: readonly ProviderSettings[],
): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const { name, roles } of providers) {
    const apps = await findClaimedApps(
      { db },
      roles.map(({ slug }) => slug),
    );
    const issues = [
      ...apps.unknown.map((slug) => `${slug}, which does not exist`),
      ...apps.disabled.map((slug) => `${slug}, which is disabled`),
    ];
    if (issues.length > 0)
      results.push(
        warn(`roles by claims of ${name}`, {
          message: `refer to ${issues.join(", and ")}: these roles have no effect`,
          remedy: `correct OIDC_${toVariable(name)}_ROLES, or create or enable the app`,
        }),
      );
  }
  return results;
}

/** A warning for each provider that granted roles and is no longer configured. The login of `db` can read roles. */
export async function checkClaimedRoles(
  db: Database,
  providers: readonly ProviderSettings[],
): Promise<CheckResult[]> {
  const given = await countClaimedRoles({ db });
  const left = given.filter(
    ({ provider, roles }) => roles > 0 && providers.every(({ name }) => name !== provider),
  );
  return left.map(({ provider, roles }) =>
    warn(`roles by claims of ${provider}`, {
      message: `are inactive (${roles} in total): no provider with this name is configured`,
      remedy: `set OIDC_${toVariable(provider)}_… again, or revoke the roles with rowhouse admin revoke --provider ${quoteForShell(provider)}`,
    }),
  );
}

/** A warning for each provider that withheld claims in the last days. The login of `db` can read roles. */
export async function checkWithheldClaims(db: Database): Promise<CheckResult[]> {
  const given = await countClaimedRoles({ db });
  return given
    .filter(({ withheld }) => withheld > 0)
    .map(({ provider, withheld, reason }) =>
      warn(`claims of ${provider}`, {
        message: `were withheld from ${showCount(withheld, "person", "people")} in the last 7 days: ${reason}; their earlier roles stay`,
        remedy:
          "let the provider send fewer groups, such as the groups of this application, or grant roles with rowhouse admin grant",
      }),
    );
}

function toVariable(provider: string): string {
  return provider.toUpperCase().replaceAll("-", "_");
}

// Finds accounts and keys from `rowhouse dev`: older releases used the database in the shell's
// DATABASE_URL.

const NOTHING: DevLeftovers = { people: [], keys: [] };

/** No results if none of the logins can read accounts. */
export async function checkDevLeftovers(logins: readonly Database[]): Promise<CheckResult[]> {
  for (const db of logins) {
    if (await readsPeople(db)) return evaluateDevLeftovers(await findDevLeftovers({ db }));
  }
  return [];
}

function evaluateDevLeftovers({ people, keys }: DevLeftovers = NOTHING): CheckResult[] {
  const about = "rowhouse dev";
  const results: CheckResult[] = [];
  if (people.length > 0)
    results.push(
      warn(about, {
        message: `accounts have an address under localhost: ${people.map(({ email }) => email).join(", ")}; rowhouse dev prints the passwords of such accounts`,
        remedy:
          "if you do not need an account, run rowhouse admin disable with its address, or rowhouse admin delete-user",
      }),
    );
  if (keys.length > 0)
    results.push(
      warn(about, {
        message: `issued keys that are still active: ${keys.map(({ app, keyId }) => `${keyId} of ${app}`).join(", ")}; each has every scope and no expiry`,
        remedy: "if you do not need a key, run rowhouse admin revoke-key with its id",
      }),
    );
  return results;
}

// Checks the mail queue: how many emails wait, and whether a process sends them.

/** Longer than a busy minute, shorter than users wait for a link. */
const OVERDUE_S = 600;

/** No results if the queue is empty and no process sends mail. */
export function evaluateMails({ hasSender, waiting, oldestS, givenUp }: MailState): CheckResult[] {
  const about = "mail";
  const results: CheckResult[] = [];
  const count = `${waiting} ${waiting === 1 ? "email is" : "emails are"} in the queue`;
  if (waiting > 0 && !hasSender)
    results.push(
      warn(about, {
        message: `${count}, and no process has sent email for ${toDurationText(MAIL_PAUSE_S)}`,
        remedy: "start a process with MAIL_URL where ROLE is all or identity",
      }),
    );
  else if (oldestS > OVERDUE_S)
    results.push(
      warn(about, {
        message: `${count}, the oldest for ${showCount(Math.floor(oldestS / 60), "minute")}`,
        remedy:
          'search the log for "event":"mail": these lines show the response of the mail server',
      }),
    );
  else if (hasSender) results.push(pass(about, `a process sends email; ${count}`));
  if (givenUp > 0)
    results.push(
      warn(about, {
        message: `${givenUp} ${givenUp === 1 ? "email was" : "emails were"} not delivered in the last ${toDurationText(GIVEN_UP_LIFE_S)}`,
        remedy:
          'search the log for "event":"mail", then create new links for these people: rowhouse admin password-link',
      }),
    );
  return results;
}

// Checks external servers for sign-in and mail, with the same requests as the service.

const TIMEOUT_S = 5;

/** In parallel: a provider that does not respond costs seconds. */
export function checkProviders(list: readonly ProviderSettings[]): Promise<CheckResult[]> {
  return Promise.all(list.map(checkProvider));
}

async function checkProvider(settings: ProviderSettings): Promise<CheckResult> {
  const about = `sign-in with ${settings.label}`;
  try {
    await discover(settings, { timeoutS: TIMEOUT_S });
    return pass(about, `${settings.issuer} responds`);
  } catch (error) {
    return warn(about, {
      message: `${settings.issuer} does not respond as an OpenID Connect provider: ${String(toLogFields(error)["message"])}`,
      remedy: `sign-in with this provider fails until then: fetch ${settings.issuer.replace(/\/$/, "")}/.well-known/openid-configuration from this machine, and compare its "issuer" with OIDC_${settings.name.toUpperCase()}_ISSUER`,
    });
  }
}

/** The mail server that `MAIL_URL` names. */
export async function checkMailServer(settings: MailSettings): Promise<CheckResult> {
  const about = "mail server";
  const { greeting, rejection } = await tryServer(settings);
  if (rejection === undefined) return pass(about, `accepts the greeting ${greeting} and the login`);
  return warn(about, REJECTED[rejection.step](rejection.reason, greeting));
}

const REJECTED: Readonly<
  Record<
    NonNullable<MailAttempt["rejection"]>["step"],
    (reason: string, greeting: string) => { message: string; remedy: string }
  >
> = {
  connection: (reason) => ({
    message: `does not respond: ${reason}`,
    remedy: "emails stay in the queue until then: check the host, port and scheme of MAIL_URL",
  }),
  greeting: (reason, greeting) => ({
    message: `rejects the greeting EHLO ${greeting}: ${reason}`,
    remedy:
      "emails stay in the queue until then: the greeting is the host of IDENTITY_URL or PUBLIC_URL, or the domain of MAIL_FROM; use a name that the mail server resolves",
  }),
  login: (reason) => ({
    message: `rejects the login: ${reason}`,
    remedy: "emails stay in the queue until then: check the user and the password in MAIL_URL",
  }),
};

// Checks whether PostgreSQL allows all connections that the service's processes can open.

/** Max connections: `pool` and `pushing` per worker; `pushing` are those of the pushing login. */
export type Connections = { pool: number; pushing: number; workers: number };

/** `db` connects directly to PostgreSQL: behind a pooler, the pooler opens the connections. */
export async function checkConnections(
  db: Database,
  { pool, pushing, workers }: Connections,
): Promise<CheckResult[]> {
  const [row] = await readRows<{ max: number; login_max: number }>(
    db,
    `select pg_catalog.current_setting('max_connections')::pg_catalog.int4 - pg_catalog.current_setting('superuser_reserved_connections')::pg_catalog.int4
        - coalesce(pg_catalog.current_setting('reserved_connections', true)::pg_catalog.int4, 0) as max, rolconnlimit as login_max
    from pg_catalog.pg_roles where rolname = current_user`,
  );
  const { max = 0, login_max: loginMax = -1 } = row ?? {};
  const serving = pool * workers;
  const all = serving + pushing * workers;
  const isLoginFull = loginMax >= 0 && serving > loginMax;
  if (all <= max && !isLoginFull) return [];
  const limit = isLoginFull ? `the login's limit is ${loginMax}` : `PostgreSQL's limit is ${max}`;
  return [
    warn("connections", {
      message: `this service can open ${isLoginFull ? serving : all}, but ${limit}: PostgreSQL would reject the rest under load`,
      remedy: `lower DATABASE_POOL or WORKERS, or raise ${isLoginFull ? "the login's CONNECTION LIMIT" : "max_connections"}`,
    }),
  ];
}
