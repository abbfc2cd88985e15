/** Conflicts between settings that are each valid. Pure, except that one list is loaded when required. @module */

import { isIP } from "node:net";
import type { Config } from "./config.ts";

/** Only valid settings. */
export type SoundSettings = Partial<Config>;

/** The text starts with the name of a setting, and has the expected value, the reason and the remedy. Never a secret. */
type FindConflict = (settings: SoundSettings) => string | false | undefined;

export async function findConflicts(settings: SoundSettings): Promise<string[]> {
  return [
    ...(await findSuffixConflict(settings)),
    ...CONFLICTS.flatMap((find) => find(settings) || []),
  ];
}

/** Uses the list of browsers. It is loaded only with a cookie domain, which few commands have. */
async function findSuffixConflict({ COOKIE_DOMAIN: domain }: SoundSettings): Promise<string[]> {
  if (domain === undefined) return [];
  const { getPublicSuffix } = await import("tldts");
  if (getPublicSuffix(domain, { allowPrivateDomains: true }) !== domain) return [];
  return [
    "COOKIE_DOMAIN must not be a public suffix, under which anyone can register a host: browsers reject cookies for it; set your own domain under it",
  ];
}

// Hosts, schemes and the cookie domain: browsers would reject the cookies.

const OF_HOSTS: readonly FindConflict[] = [
  ({ COOKIE_DOMAIN: domain }) =>
    domain &&
    isIP(domain) !== 0 &&
    "COOKIE_DOMAIN must be a domain, not an IP address: browsers do not share cookies between hosts of an IP address; use host names under one domain, such as example.org",
  ({ IDENTITY_URL: url }) =>
    url &&
    !isSecure(url) &&
    "IDENTITY_URL must begin with https://: over http browsers accept its cookies only for hosts under localhost; add TLS and set the https origin",
  ({ IDENTITY_URL: url, COOKIE_DOMAIN }) =>
    url &&
    !isUnder(url, COOKIE_DOMAIN) &&
    "IDENTITY_URL must be COOKIE_DOMAIN or a host under it: browsers reject the session cookie from any other host; correct the wrong setting",
  // Without a cookie domain no one signs in to apps, and the API can use any origin.
  ({ PUBLIC_URL: url, COOKIE_DOMAIN }) =>
    url &&
    COOKIE_DOMAIN &&
    !isSecure(url) &&
    "PUBLIC_URL must begin with https:// if COOKIE_DOMAIN is set: over http browsers send the session cookie only to hosts under localhost; add TLS and set the https origin",
  ({ PUBLIC_URL: url, COOKIE_DOMAIN }) =>
    url &&
    !isUnder(url, COOKIE_DOMAIN) &&
    "PUBLIC_URL must be COOKIE_DOMAIN or a host under it: browsers send the session cookie to no other host; correct the wrong setting",
  // Pages and API on separate hosts: requests are distinguished by host and share the session cookie.
  ({ IDENTITY_URL, PUBLIC_URL, COOKIE_DOMAIN }) =>
    IDENTITY_URL &&
    IDENTITY_URL !== PUBLIC_URL &&
    COOKIE_DOMAIN === undefined &&
    "COOKIE_DOMAIN must be set if IDENTITY_URL differs from PUBLIC_URL: without it a sign-in is valid only on that host; set the parent domain of both and of all apps, such as example.org",
  ({ IDENTITY_URL, PUBLIC_URL }) =>
    IDENTITY_URL &&
    PUBLIC_URL &&
    IDENTITY_URL !== PUBLIC_URL &&
    new URL(PUBLIC_URL).host === new URL(IDENTITY_URL).host &&
    "IDENTITY_URL must equal PUBLIC_URL or have another host: requests for the pages and the API are distinguished only by host; use the same scheme for both, or a separate host for the pages, such as https://id.example.org",
];

/** Whether browsers store a Secure cookie of this origin. */
function isSecure(origin: string): boolean {
  const { protocol, hostname } = new URL(origin);
  return protocol === "https:" || /(^|\.)localhost$/.test(hostname);
}

function isUnder(origin: string, domain: string | undefined): boolean {
  return domain === undefined || `.${new URL(origin).hostname}`.endsWith(`.${domain}`);
}

const MAX_PORT = 65_535;
const toLast = (port: number, workers: number) => port + workers - 1;

const OF_PORTS: readonly FindConflict[] = [
  ({ PORT, WORKERS = 1 }) =>
    PORT === 0 &&
    WORKERS > 1 &&
    "PORT must be above 0 if WORKERS is above 1, because the processes share it: set PORT to the port that clients connect to",
  ({ ADMIN_PORT: first, WORKERS = 1 }) =>
    first !== undefined &&
    toLast(first, WORKERS) > MAX_PORT &&
    `ADMIN_PORT must be at most ${MAX_PORT - WORKERS + 1} if WORKERS is ${WORKERS}, because each worker uses the next port: set a lower port`,
  ({ PORT, ADMIN_PORT: first, WORKERS = 1, ...hosts }) => {
    if (PORT === undefined || first === undefined || !sharesHost(hosts)) return false;
    const last = toLast(first, WORKERS);
    return (
      PORT >= first &&
      PORT <= last &&
      `ADMIN_PORT must not include PORT, which is for clients: ${WORKERS > 1 ? `the ${WORKERS} WORKERS would use ${first} to ${last}` : `both are ${PORT}`}; set another ADMIN_PORT, such as ${PORT === 9090 ? 9190 : 9090}`
    );
  },
];

const ANY_HOST = ["0.0.0.0", "::"];

function sharesHost({ HOST = "0.0.0.0", ADMIN_HOST = "127.0.0.1" }: SoundSettings): boolean {
  return HOST === ADMIN_HOST || [HOST, ADMIN_HOST].some((host) => ANY_HOST.includes(host));
}

/** The services that a gateway forwards to. */
const OF_UPSTREAMS: readonly FindConflict[] = [
  ({ ROLE, UPSTREAM_DATA_URL: data, UPSTREAM_IDENTITY_URL: identity }) =>
    ROLE === "gateway" &&
    data !== undefined &&
    data === identity &&
    "UPSTREAM_IDENTITY_URL must differ from UPSTREAM_DATA_URL: each service rejects requests signed for the other; use different ports or hosts, and correct the wrong setting",
  ...(["UPSTREAM_DATA_URL", "UPSTREAM_IDENTITY_URL"] as const).map(
    (name): FindConflict =>
      (settings) =>
        settings.ROLE === "gateway" &&
        isItself(settings[name], settings) &&
        `${name} must not be the gateway's own address, because the gateway would forward to itself: set the origin of the service, on another PORT`,
  ),
];

const OWN_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

function isItself(upstream: string | undefined, { PORT, PUBLIC_URL }: SoundSettings): boolean {
  if (upstream === undefined) return false;
  if (upstream === PUBLIC_URL) return true;
  const { hostname, port, protocol } = new URL(upstream);
  return OWN_HOST.test(hostname) && Number(port || (protocol === "https:" ? 443 : 80)) === PORT;
}

/** Each needs its own login: a stolen login must not do another job. */
export const OWN_LOGINS = [
  "CONSOLE_DATABASE_URL",
  "IDENTITY_DATABASE_URL",
  "ROWS_DATABASE_URL",
] as const;

const OF_LOGINS = OWN_LOGINS.map(
  (name, position): FindConflict =>
    (settings) => {
      const others = [
        "DATABASE_URL",
        "ADMIN_DATABASE_URL",
        ...OWN_LOGINS.slice(0, position),
      ] as const;
      const [login, ...taken] = [name, ...others].map((of) => {
        const url = settings[of];
        return url && decodeURIComponent(new URL(url).username);
      });
      return (
        login !== undefined &&
        taken.includes(login) &&
        `${name} must name its own login, not the login of ${others.join(" or ")}: create a role with only the attribute LOGIN`
      );
    },
);

const hasOrigin = ({ IDENTITY_URL, PUBLIC_URL }: SoundSettings) =>
  IDENTITY_URL !== undefined || PUBLIC_URL !== undefined;

const CONFLICTS: readonly FindConflict[] = [
  ...OF_HOSTS,
  ...OF_PORTS,
  ...OF_UPSTREAMS,
  // The gateway must not know IDENTITY_SECRET: it could create sessions.
  ({ IDENTITY_SECRET = [], INTERNAL_HMAC_SECRET = [] }) =>
    IDENTITY_SECRET.some((secret) => INTERNAL_HMAC_SECRET.includes(secret)) &&
    "IDENTITY_SECRET must differ from INTERNAL_HMAC_SECRET, which the gateway also has: create another secret with openssl rand -hex 32",
  ...OF_LOGINS,
  ({ providers = [], ...origins }) =>
    providers.length > 0 &&
    !hasOrigin(origins) &&
    "IDENTITY_URL must be set if people sign in with a provider, because the provider redirects them there: set the origin of the pages",
  ({ MAIL_URL, MAIL_FROM }) =>
    MAIL_URL &&
    MAIL_FROM === undefined &&
    "MAIL_FROM must be set with MAIL_URL: set an address that the mail server sends for, such as Rowhouse <no-reply@example.org>",
  ({ MAIL_URL, MAIL_FROM }) =>
    MAIL_FROM &&
    MAIL_URL === undefined &&
    "MAIL_URL must be set with MAIL_FROM: set the mail server, or unset both",
  ({ MAIL_URL, MAIL_FROM, ...origins }) =>
    (MAIL_URL ?? MAIL_FROM) &&
    !hasOrigin(origins) &&
    "IDENTITY_URL must be set if emails are sent, because links in emails use it: set the origin of the pages",
];
