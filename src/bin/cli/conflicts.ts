/** Settings that are valid one by one and cannot work together. Pure, but for a list that is loaded when it is needed. @module */
import type { Config } from "../../config/mod.ts";
import { findHostConflicts } from "./host_conflicts.ts";

/** Settings with a fault of their own are left out. */
export type SoundSettings = Partial<Config>;

/** Every conflict: which setting to change, what is wanted, why, and what to do. Never a secret. */
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
  const faults: string[] = [];
  if (PORT === 0 && WORKERS > 1)
    faults.push(
      "PORT must be above 0 where WORKERS is above 1, because the processes share it: set PORT to the one that callers connect to",
    );
  if (ADMIN_PORT === undefined) return faults;
  const last = ADMIN_PORT + WORKERS - 1;
  if (last > MAX_PORT)
    faults.push(
      `ADMIN_PORT must be at most ${MAX_PORT - WORKERS + 1} where WORKERS is ${WORKERS}, because each has its own, counting up: set a lower one`,
    );
  const isTaken = PORT !== undefined && PORT >= ADMIN_PORT && PORT <= last;
  if (isTaken && sharesHost(hosts))
    faults.push(
      `ADMIN_PORT must not take PORT, which is for callers: ${WORKERS > 1 ? `the ${WORKERS} WORKERS would take ${ADMIN_PORT} to ${last}` : `both are ${PORT}`}; leave PORT as it is and set another ADMIN_PORT, such as ${PORT === 9090 ? 9190 : 9090}`,
    );
  return faults;
}

const ANY_HOST = ["0.0.0.0", "::"];

function sharesHost({ HOST = "0.0.0.0", ADMIN_HOST = "127.0.0.1" }: SoundSettings): boolean {
  return HOST === ADMIN_HOST || [HOST, ADMIN_HOST].some((host) => ANY_HOST.includes(host));
}

/** What a gateway forwards to. */
function findUpstreamConflicts(config: SoundSettings): string[] {
  if (config.ROLE !== "gateway") return [];
  const { UPSTREAM_DATA_URL: data, UPSTREAM_IDENTITY_URL: identity } = config;
  const faults: string[] = [];
  if (data !== undefined && data === identity)
    faults.push(
      "UPSTREAM_IDENTITY_URL must not be UPSTREAM_DATA_URL: a service refuses what is signed for the other; give each a PORT or a host of its own, and correct whichever of the two is wrong",
    );
  for (const name of ["UPSTREAM_DATA_URL", "UPSTREAM_IDENTITY_URL"] as const)
    if (isItself(config[name], config))
      faults.push(
        `${name} must not be the gateway's own address, to which it would forward for ever: set the origin of the service, with a PORT of its own`,
      );
  return faults;
}

const OWN_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

function isItself(upstream: string | undefined, { PORT, PUBLIC_URL }: SoundSettings): boolean {
  if (upstream === undefined) return false;
  if (upstream === PUBLIC_URL) return true;
  const { hostname, port, protocol } = new URL(upstream);
  return OWN_HOST.test(hostname) && Number(port || (protocol === "https:" ? 443 : 80)) === PORT;
}

/** What the gateway knows, too, keeps no one from making a session. */
function findSecretConflicts(config: SoundSettings): string[] {
  const { IDENTITY_SECRET = [], INTERNAL_HMAC_SECRET = [] } = config;
  if (!IDENTITY_SECRET.some((secret) => INTERNAL_HMAC_SECRET.includes(secret))) return [];
  return [
    "IDENTITY_SECRET must differ from INTERNAL_HMAC_SECRET, which the gateway knows too: make one with openssl rand -hex 32",
  ];
}

/** A login for each of these jobs: a thief of one must get no other. */
const OWN_LOGINS = ["CONSOLE_DATABASE_URL", "IDENTITY_DATABASE_URL", "ROWS_DATABASE_URL"] as const;

function findLoginConflicts(config: SoundSettings): string[] {
  const shared = ["DATABASE_URL", "ADMIN_DATABASE_URL"] as const;
  const loginOf = (name: (typeof OWN_LOGINS | typeof shared)[number]) => {
    const url = config[name];
    return url === undefined ? undefined : toLogin(url);
  };
  return OWN_LOGINS.flatMap((name, place) => {
    const login = loginOf(name);
    const others = [...shared, ...OWN_LOGINS.slice(0, place)];
    if (login === undefined || !others.map(loginOf).includes(login)) return [];
    return [
      `${name} must name a login of its own, not that of ${others.join(" or ")}: create a role with LOGIN and nothing else`,
    ];
  });
}

function toLogin(url: string): string {
  return decodeURIComponent(new URL(url).username);
}

/** A provider sends people back to one address, which it is told in advance. */
function findProviderConflicts({
  providers = [],
  IDENTITY_URL,
  PUBLIC_URL,
}: SoundSettings): string[] {
  if (providers.length === 0 || IDENTITY_URL !== undefined || PUBLIC_URL !== undefined) return [];
  return [
    "IDENTITY_URL must be set where people sign in with a provider, which sends them back there: set the origin of the pages",
  ];
}

/** Each needs the other, and links need an origin to lead to. */
function findMailConflicts(config: SoundSettings): string[] {
  const { MAIL_URL, MAIL_FROM, IDENTITY_URL, PUBLIC_URL } = config;
  const faults: string[] = [];
  if (MAIL_URL === undefined && MAIL_FROM === undefined) return faults;
  if (MAIL_FROM === undefined)
    faults.push(
      "MAIL_FROM must be set with MAIL_URL: set an address that the mail server sends for, such as Rowhouse <no-reply@example.org>",
    );
  if (MAIL_URL === undefined)
    faults.push("MAIL_URL must be set with MAIL_FROM: set the mail server, or unset both");
  if (IDENTITY_URL === undefined && PUBLIC_URL === undefined)
    faults.push(
      "IDENTITY_URL must be set where mails are sent, whose links lead there: set the origin of the pages",
    );
  return faults;
}
