/** Conflicts between settings that are each valid. Pure, except that one list is loaded when required. @module */

import { isIP } from "node:net";
import type { Config } from "../settings/mod.ts";

// Conflicts between hosts, schemes and the cookie domain: browsers would reject the cookies.

type HostSettings = Partial<Pick<Config, "COOKIE_DOMAIN" | "IDENTITY_URL" | "PUBLIC_URL">>;

/** Conflicts of valid settings. Each message starts with the name of a setting. */
async function findHostConflicts(config: HostSettings): Promise<string[]> {
  return [
    ...(await findDomainIssues(config.COOKIE_DOMAIN)),
    ...findIdentityIssues(config),
    ...findPublicIssues(config),
    ...findSplitIssues(config),
  ];
}

async function findDomainIssues(domain: string | undefined): Promise<string[]> {
  if (domain === undefined) return [];
  if (isIP(domain) !== 0)
    return [
      "COOKIE_DOMAIN must be a domain, not an IP address: browsers do not share cookies between hosts of an IP address; use host names under one domain, such as example.org",
    ];
  if (!(await isPublicSuffix(domain))) return [];
  return [
    "COOKIE_DOMAIN must not be a public suffix, under which anyone can register a host: browsers reject cookies for it; set your own domain under it",
  ];
}

/** Uses the list of browsers. It is loaded only with a cookie domain, which few commands have. */
async function isPublicSuffix(domain: string): Promise<boolean> {
  const { getPublicSuffix } = await import("tldts");
  return getPublicSuffix(domain, { allowPrivateDomains: true }) === domain;
}

function findIdentityIssues({ COOKIE_DOMAIN, IDENTITY_URL }: HostSettings): string[] {
  if (IDENTITY_URL === undefined) return [];
  const issues: string[] = [];
  if (!isSecure(IDENTITY_URL))
    issues.push(
      "IDENTITY_URL must begin with https://: over http browsers accept its cookies only for hosts under localhost; add TLS and set the https origin",
    );
  if (!isUnder(IDENTITY_URL, COOKIE_DOMAIN))
    issues.push(
      "IDENTITY_URL must be COOKIE_DOMAIN or a host under it: browsers reject the session cookie from any other host; correct the wrong setting",
    );
  return issues;
}

/** Without a cookie domain no one signs in to apps, and the API can use any origin. */
function findPublicIssues({ COOKIE_DOMAIN, PUBLIC_URL }: HostSettings): string[] {
  if (PUBLIC_URL === undefined || COOKIE_DOMAIN === undefined) return [];
  const issues: string[] = [];
  if (!isSecure(PUBLIC_URL))
    issues.push(
      "PUBLIC_URL must begin with https:// if COOKIE_DOMAIN is set: over http browsers send the session cookie only to hosts under localhost; add TLS and set the https origin",
    );
  if (!isUnder(PUBLIC_URL, COOKIE_DOMAIN))
    issues.push(
      "PUBLIC_URL must be COOKIE_DOMAIN or a host under it: browsers send the session cookie to no other host; correct the wrong setting",
    );
  return issues;
}

/** Pages and API on separate hosts: requests are distinguished by host and share the session cookie. */
function findSplitIssues({ COOKIE_DOMAIN, IDENTITY_URL, PUBLIC_URL }: HostSettings): string[] {
  if (IDENTITY_URL === undefined || IDENTITY_URL === PUBLIC_URL) return [];
  const issues: string[] = [];
  if (COOKIE_DOMAIN === undefined)
    issues.push(
      "COOKIE_DOMAIN must be set if IDENTITY_URL differs from PUBLIC_URL: without it a sign-in is valid only on that host; set the parent domain of both and of all apps, such as example.org",
    );
  if (PUBLIC_URL !== undefined && new URL(PUBLIC_URL).host === new URL(IDENTITY_URL).host)
    issues.push(
      "IDENTITY_URL must equal PUBLIC_URL or have another host: requests for the pages and the API are distinguished only by host; use the same scheme for both, or a separate host for the pages, such as https://id.example.org",
    );
  return issues;
}

/** Whether browsers store a Secure cookie of this origin. */
function isSecure(origin: string): boolean {
  const { protocol, hostname } = new URL(origin);
  return protocol === "https:" || /(^|\.)localhost$/.test(hostname);
}

function isUnder(origin: string, domain: string | undefined): boolean {
  return domain === undefined || `.${new URL(origin).hostname}`.endsWith(`.${domain}`);
}

/** Only valid settings. */
export type SoundSettings = Partial<Config>;

/** All conflicts: the setting, the expected value, the reason and the remedy. Never a secret. */
export async function findConflicts(config: SoundSettings): Promise<string[]> {
  return [
    ...(await findHostConflicts(config)),
    ...findPortConflicts(config),
    ...findUpstreamConflicts(config),
    ...findSecretConflicts(config),
    ...findLoginConflicts(config),
    ...findProviderConflicts(config),
    ...findMailConflicts(config),
  ];
}

const MAX_PORT = 65_535;

function findPortConflicts({ PORT, ADMIN_PORT, WORKERS = 1, ...hosts }: SoundSettings): string[] {
  const issues: string[] = [];
  if (PORT === 0 && WORKERS > 1)
    issues.push(
      "PORT must be above 0 if WORKERS is above 1, because the processes share it: set PORT to the port that clients connect to",
    );
  if (ADMIN_PORT === undefined) return issues;
  const last = ADMIN_PORT + WORKERS - 1;
  if (last > MAX_PORT)
    issues.push(
      `ADMIN_PORT must be at most ${MAX_PORT - WORKERS + 1} if WORKERS is ${WORKERS}, because each worker uses the next port: set a lower port`,
    );
  const isInUse = PORT !== undefined && PORT >= ADMIN_PORT && PORT <= last;
  if (isInUse && sharesHost(hosts))
    issues.push(
      `ADMIN_PORT must not include PORT, which is for clients: ${WORKERS > 1 ? `the ${WORKERS} WORKERS would use ${ADMIN_PORT} to ${last}` : `both are ${PORT}`}; set another ADMIN_PORT, such as ${PORT === 9090 ? 9190 : 9090}`,
    );
  return issues;
}

const ANY_HOST = ["0.0.0.0", "::"];

function sharesHost({ HOST = "0.0.0.0", ADMIN_HOST = "127.0.0.1" }: SoundSettings): boolean {
  return HOST === ADMIN_HOST || [HOST, ADMIN_HOST].some((host) => ANY_HOST.includes(host));
}

/** Conflicts of the services that a gateway forwards to. */
function findUpstreamConflicts(config: SoundSettings): string[] {
  if (config.ROLE !== "gateway") return [];
  const { UPSTREAM_DATA_URL: data, UPSTREAM_IDENTITY_URL: identity } = config;
  const issues: string[] = [];
  if (data !== undefined && data === identity)
    issues.push(
      "UPSTREAM_IDENTITY_URL must differ from UPSTREAM_DATA_URL: each service rejects requests signed for the other; use different ports or hosts, and correct the wrong setting",
    );
  for (const name of ["UPSTREAM_DATA_URL", "UPSTREAM_IDENTITY_URL"] as const)
    if (isItself(config[name], config))
      issues.push(
        `${name} must not be the gateway's own address, because the gateway would forward to itself: set the origin of the service, on another PORT`,
      );
  return issues;
}

const OWN_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

function isItself(upstream: string | undefined, { PORT, PUBLIC_URL }: SoundSettings): boolean {
  if (upstream === undefined) return false;
  if (upstream === PUBLIC_URL) return true;
  const { hostname, port, protocol } = new URL(upstream);
  return OWN_HOST.test(hostname) && Number(port || (protocol === "https:" ? 443 : 80)) === PORT;
}

/** The gateway must not know IDENTITY_SECRET: it could create sessions. */
function findSecretConflicts(config: SoundSettings): string[] {
  const { IDENTITY_SECRET = [], INTERNAL_HMAC_SECRET = [] } = config;
  if (!IDENTITY_SECRET.some((secret) => INTERNAL_HMAC_SECRET.includes(secret))) return [];
  return [
    "IDENTITY_SECRET must differ from INTERNAL_HMAC_SECRET, which the gateway also has: create another secret with openssl rand -hex 32",
  ];
}

/** Each setting needs its own login: a stolen login must not do another job. */
const OWN_LOGINS = ["CONSOLE_DATABASE_URL", "IDENTITY_DATABASE_URL", "ROWS_DATABASE_URL"] as const;

function findLoginConflicts(config: SoundSettings): string[] {
  const shared = ["DATABASE_URL", "ADMIN_DATABASE_URL"] as const;
  const loginOf = (name: (typeof OWN_LOGINS | typeof shared)[number]) => {
    const url = config[name];
    return url === undefined ? undefined : decodeURIComponent(new URL(url).username);
  };
  return OWN_LOGINS.flatMap((name, position) => {
    const login = loginOf(name);
    const others = [...shared, ...OWN_LOGINS.slice(0, position)];
    if (login === undefined || !others.map(loginOf).includes(login)) return [];
    return [
      `${name} must name its own login, not the login of ${others.join(" or ")}: create a role with only the attribute LOGIN`,
    ];
  });
}

/** A provider redirects people to a registered address. */
function findProviderConflicts({
  providers = [],
  IDENTITY_URL,
  PUBLIC_URL,
}: SoundSettings): string[] {
  if (providers.length === 0 || IDENTITY_URL !== undefined || PUBLIC_URL !== undefined) return [];
  return [
    "IDENTITY_URL must be set if people sign in with a provider, because the provider redirects them there: set the origin of the pages",
  ];
}

/** MAIL_URL and MAIL_FROM require each other, and links in emails require an origin. */
function findMailConflicts(config: SoundSettings): string[] {
  const { MAIL_URL, MAIL_FROM, IDENTITY_URL, PUBLIC_URL } = config;
  const issues: string[] = [];
  if (MAIL_URL === undefined && MAIL_FROM === undefined) return issues;
  if (MAIL_FROM === undefined)
    issues.push(
      "MAIL_FROM must be set with MAIL_URL: set an address that the mail server sends for, such as Rowhouse <no-reply@example.org>",
    );
  if (MAIL_URL === undefined)
    issues.push("MAIL_URL must be set with MAIL_FROM: set the mail server, or unset both");
  if (IDENTITY_URL === undefined && PUBLIC_URL === undefined)
    issues.push(
      "IDENTITY_URL must be set if emails are sent, because links in emails use it: set the origin of the pages",
    );
  return issues;
}
