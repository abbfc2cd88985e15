/** Conflicts between hosts, schemes and the cookie domain: browsers would reject the cookies. @module */
import { isIP } from "node:net";
import type { Config } from "../../config/mod.ts";

export type HostSettings = Partial<Pick<Config, "COOKIE_DOMAIN" | "IDENTITY_URL" | "PUBLIC_URL">>;

/** Conflicts of valid settings. Each message starts with the name of a setting. */
export async function findHostConflicts(config: HostSettings): Promise<string[]> {
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
