/** Hosts, schemes and the cookies' domain that cannot work together, because browsers refuse the cookies. @module */
import { isIP } from "node:net";
import type { Config } from "../../config/mod.ts";

export type HostSettings = Partial<Pick<Config, "COOKIE_DOMAIN" | "IDENTITY_URL" | "PUBLIC_URL">>;

/** Faults of settings that are valid one by one, each beginning with the setting's name. */
export async function findHostConflicts(config: HostSettings): Promise<string[]> {
  return [
    ...(await findDomainFaults(config.COOKIE_DOMAIN)),
    ...findIdentityFaults(config),
    ...findPublicFaults(config),
    ...findSplitFaults(config),
  ];
}

async function findDomainFaults(domain: string | undefined): Promise<string[]> {
  if (domain === undefined) return [];
  if (isIP(domain) !== 0)
    return [
      "COOKIE_DOMAIN must be a domain, not an address: browsers share no cookie between the hosts of an address; give the apps host names under one domain, such as example.org",
    ];
  if (!(await isPublicSuffix(domain))) return [];
  return [
    "COOKIE_DOMAIN must not be a public suffix, under which anybody may have a host: browsers refuse cookies for it; set your own domain under it",
  ];
}

/** By the list that browsers follow. Loaded only where it is needed: most commands have no cookies' domain. */
async function isPublicSuffix(domain: string): Promise<boolean> {
  const { getPublicSuffix } = await import("tldts");
  return getPublicSuffix(domain, { allowPrivateDomains: true }) === domain;
}

function findIdentityFaults({ COOKIE_DOMAIN, IDENTITY_URL }: HostSettings): string[] {
  if (IDENTITY_URL === undefined) return [];
  const faults: string[] = [];
  if (!isSecure(IDENTITY_URL))
    faults.push(
      "IDENTITY_URL must begin with https://: over http browsers keep its cookies only for hosts under localhost; put TLS in front and set the https origin",
    );
  if (!isUnder(IDENTITY_URL, COOKIE_DOMAIN))
    faults.push(
      "IDENTITY_URL must be COOKIE_DOMAIN or a host under it: browsers refuse the cookie of a session from any other host; correct whichever of the two is wrong",
    );
  return faults;
}

/** Without a cookies' domain no one signs in at an app, and the API may be where it likes. */
function findPublicFaults({ COOKIE_DOMAIN, PUBLIC_URL }: HostSettings): string[] {
  if (PUBLIC_URL === undefined || COOKIE_DOMAIN === undefined) return [];
  const faults: string[] = [];
  if (!isSecure(PUBLIC_URL))
    faults.push(
      "PUBLIC_URL must begin with https:// where COOKIE_DOMAIN is set: over http browsers send the cookie of a session only to hosts under localhost; put TLS in front and set the https origin",
    );
  if (!isUnder(PUBLIC_URL, COOKIE_DOMAIN))
    faults.push(
      "PUBLIC_URL must be COOKIE_DOMAIN or a host under it: browsers send the cookie of a session to no other host; correct whichever of the two is wrong",
    );
  return faults;
}

/** The pages and the API on hosts of their own: requests are told apart by host, and share the session by cookie. */
function findSplitFaults({ COOKIE_DOMAIN, IDENTITY_URL, PUBLIC_URL }: HostSettings): string[] {
  if (IDENTITY_URL === undefined || IDENTITY_URL === PUBLIC_URL) return [];
  const faults: string[] = [];
  if (COOKIE_DOMAIN === undefined)
    faults.push(
      "COOKIE_DOMAIN must be set where IDENTITY_URL is not PUBLIC_URL: without it whoever signs in there is signed in nowhere else; set the parent domain of both and of all apps, such as example.org",
    );
  if (PUBLIC_URL !== undefined && new URL(PUBLIC_URL).host === new URL(IDENTITY_URL).host)
    faults.push(
      "IDENTITY_URL must be PUBLIC_URL itself or have another host: requests for the pages and for the API are told apart by host alone; write both with the same scheme, or give the pages a host of their own, such as https://id.example.org",
    );
  return faults;
}

/** Whether browsers keep a cookie that is for https only. */
function isSecure(origin: string): boolean {
  const { protocol, hostname } = new URL(origin);
  return protocol === "https:" || /(^|\.)localhost$/.test(hostname);
}

function isUnder(origin: string, domain: string | undefined): boolean {
  return domain === undefined || `.${new URL(origin).hostname}`.endsWith(`.${domain}`);
}
