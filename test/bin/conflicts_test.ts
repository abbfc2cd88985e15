/** Settings that are valid one by one and cannot work together: each with its exact text, and by the commands all at once. */
import { afterAll, describe, expect, test } from "bun:test";
import { findServeFaults } from "../../src/bin/cli/settings.ts";
import { makeProject, runHere } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";

const ALL = {
  DATABASE_URL: "postgres://serving:secret-word@127.0.0.1:1/none",
  ADMIN_DATABASE_URL: "postgres://pushing:secret-word@127.0.0.1:1/none",
  IDENTITY_SECRET: TEST_IDENTITY_SECRET,
};
const HOSTS = {
  COOKIE_DOMAIN: "example.org",
  IDENTITY_URL: "https://id.example.org",
  PUBLIC_URL: "https://api.example.org",
};
const GATEWAY = {
  ROLE: "gateway",
  DATABASE_URL: ALL.DATABASE_URL,
  INTERNAL_HMAC_SECRET: "s".repeat(32),
  UPSTREAM_DATA_URL: "http://localhost:8788",
  UPSTREAM_IDENTITY_URL: "http://localhost:8789",
};

const OUTSIDE = {
  IDENTITY_URL:
    "IDENTITY_URL must be COOKIE_DOMAIN or a host under it: browsers refuse the cookie of a session from any other host; correct whichever of the two is wrong",
  PUBLIC_URL:
    "PUBLIC_URL must be COOKIE_DOMAIN or a host under it: browsers send the cookie of a session to no other host; correct whichever of the two is wrong",
};
const INSECURE = {
  IDENTITY_URL:
    "IDENTITY_URL must begin with https://: over http browsers keep its cookies only for hosts under localhost; put TLS in front and set the https origin",
  PUBLIC_URL:
    "PUBLIC_URL must begin with https:// where COOKIE_DOMAIN is set: over http browsers send the cookie of a session only to hosts under localhost; put TLS in front and set the https origin",
};
const SUFFIX =
  "COOKIE_DOMAIN must not be a public suffix, under which anybody may have a host: browsers refuse cookies for it; set your own domain under it";
const ITSELF = (name: string) =>
  `${name} must not be the gateway's own address, to which it would forward for ever: set the origin of the service, with a PORT of its own`;

type Case = { name: string; env: Record<string, string>; faults: string[] };

describe("settings", () => {
  test.each<Case>([
    { name: "of pages and API under one domain", env: HOSTS, faults: [] },
    {
      name: "of mail",
      env: {
        ...HOSTS,
        MAIL_URL: "smtps://user:word@mail.example.org",
        MAIL_FROM: "Rowhouse <me@example.org>",
      },
      faults: [],
    },
    {
      name: "of mail without an origin or a sender",
      env: { MAIL_URL: "smtp://mail.example.org:587" },
      faults: [
        "MAIL_FROM must be set with MAIL_URL: set an address that the mail server sends for, such as Rowhouse <no-reply@example.org>",
        "IDENTITY_URL must be set where mails are sent, whose links lead there: set the origin of the pages",
      ],
    },
    {
      name: "of a sender without a mail server",
      env: { ...HOSTS, MAIL_FROM: "me@example.org" },
      faults: ["MAIL_URL must be set with MAIL_FROM: set the mail server, or unset both"],
    },
    {
      name: "of pages on the domain itself",
      env: { COOKIE_DOMAIN: "example.org", IDENTITY_URL: "https://example.org" },
      faults: [],
    },
    {
      name: "of one machine",
      env: {
        COOKIE_DOMAIN: "rowhouse.localhost",
        IDENTITY_URL: "http://id.rowhouse.localhost:8787",
        PUBLIC_URL: "http://api.rowhouse.localhost:8787",
      },
      faults: [],
    },
    {
      name: "of one host for both, without apps",
      env: { PUBLIC_URL: "https://example.org", IDENTITY_URL: "https://example.org" },
      faults: [],
    },
    {
      name: "of an API without TLS where nobody signs in",
      env: { PUBLIC_URL: "http://api" },
      faults: [],
    },
    {
      name: "of hosts outside the cookies' domain",
      env: { ...HOSTS, COOKIE_DOMAIN: "example.com" },
      faults: [OUTSIDE.IDENTITY_URL, OUTSIDE.PUBLIC_URL],
    },
    {
      name: "of hosts whose names only end alike",
      env: { ...HOSTS, IDENTITY_URL: "https://badexample.org" },
      faults: [OUTSIDE.IDENTITY_URL],
    },
    {
      name: "of http under a domain that is not local",
      env: {
        ...HOSTS,
        IDENTITY_URL: "http://id.example.org",
        PUBLIC_URL: "http://api.example.org",
      },
      faults: [INSECURE.IDENTITY_URL, INSECURE.PUBLIC_URL],
    },
    ...["co.uk", "github.io", "a.ck", "xn--55qx5d.cn"].map((suffix) => ({
      name: `of the public suffix ${suffix}`,
      env: { COOKIE_DOMAIN: suffix, IDENTITY_URL: `https://id.${suffix}` },
      faults: [SUFFIX],
    })),
    ...["example.co.uk", "wiki.github.io", "www.ck", "corp.internal"].map((domain) => ({
      name: `of the domain ${domain}`,
      env: { COOKIE_DOMAIN: domain, IDENTITY_URL: `https://id.${domain}` },
      faults: [],
    })),
    {
      name: "of an address as the cookies' domain",
      env: { COOKIE_DOMAIN: "192.0.2.7" },
      faults: [
        "COOKIE_DOMAIN must be a domain, not an address: browsers share no cookie between the hosts of an address; give the apps host names under one domain, such as example.org",
      ],
    },
    {
      name: "of pages on a host of their own without a cookies' domain",
      env: { IDENTITY_URL: HOSTS.IDENTITY_URL },
      faults: [
        "COOKIE_DOMAIN must be set where IDENTITY_URL is not PUBLIC_URL: without it whoever signs in there is signed in nowhere else; set the parent domain of both and of all apps, such as example.org",
      ],
    },
    {
      name: "of pages and API on one host by two schemes",
      env: {
        COOKIE_DOMAIN: "rowhouse.localhost",
        IDENTITY_URL: "https://rowhouse.localhost",
        PUBLIC_URL: "http://rowhouse.localhost",
      },
      faults: [
        "IDENTITY_URL must be PUBLIC_URL itself or have another host: requests for the pages and for the API are told apart by host alone; write both with the same scheme, or give the pages a host of their own, such as https://id.example.org",
      ],
    },
    {
      name: "of one port for callers and operators",
      env: { ADMIN_PORT: "8787" },
      faults: [
        "ADMIN_PORT must not take PORT, which is for callers: both are 8787; leave PORT as it is and set another ADMIN_PORT, such as 9090",
      ],
    },
    {
      name: "of operators' ports that reach the callers'",
      env: { ADMIN_PORT: "9088", PORT: "9090", WORKERS: "4" },
      faults: [
        "ADMIN_PORT must not take PORT, which is for callers: the 4 WORKERS would take 9088 to 9091; leave PORT as it is and set another ADMIN_PORT, such as 9190",
      ],
    },
    {
      name: "of one port on two addresses",
      env: { ADMIN_PORT: "8787", HOST: "192.0.2.7" },
      faults: [],
    },
    {
      name: "of operators' ports beyond the last",
      env: { ADMIN_PORT: "65535", WORKERS: "4" },
      faults: [
        "ADMIN_PORT must be at most 65532 where WORKERS is 4, because each has its own, counting up: set a lower one",
      ],
    },
    {
      name: "of any free port for several processes",
      env: { PORT: "0", WORKERS: "2" },
      faults: [
        "PORT must be above 0 where WORKERS is above 1, because the processes share it: set PORT to the one that callers connect to",
      ],
    },
    {
      name: "of a login for acts that also serves",
      env: { CONSOLE_DATABASE_URL: ALL.DATABASE_URL },
      faults: [
        "CONSOLE_DATABASE_URL must name a login of its own, not that of DATABASE_URL or ADMIN_DATABASE_URL: create a role with LOGIN and nothing else",
      ],
    },
    {
      name: "of one secret for two purposes",
      env: {
        ROLE: "identity",
        INTERNAL_HMAC_SECRET: `${"s".repeat(32)},${TEST_IDENTITY_SECRET}`,
      },
      faults: [
        "IDENTITY_SECRET must differ from INTERNAL_HMAC_SECRET, which the gateway knows too: make one with openssl rand -hex 32",
      ],
    },
  ])("$name", async ({ env, faults }) => {
    expect(await findServeFaults({ ...ALL, ...env })).toEqual(faults);
  });

  test.each<Case>([
    { name: "with services of their own", env: {}, faults: [] },
    {
      name: "with one address for both services",
      env: { UPSTREAM_IDENTITY_URL: GATEWAY.UPSTREAM_DATA_URL },
      faults: [
        "UPSTREAM_IDENTITY_URL must not be UPSTREAM_DATA_URL: a service refuses what is signed for the other; give each a PORT or a host of its own, and correct whichever of the two is wrong",
      ],
    },
    {
      name: "that would forward to its own port",
      env: { UPSTREAM_DATA_URL: "http://localhost:8787" },
      faults: [ITSELF("UPSTREAM_DATA_URL")],
    },
    {
      name: "that would forward to where callers reach it",
      env: {
        PUBLIC_URL: "https://api.example.org",
        UPSTREAM_IDENTITY_URL: "https://api.example.org",
      },
      faults: [ITSELF("UPSTREAM_IDENTITY_URL")],
    },
  ])("of a gateway $name", async ({ env, faults }) => {
    expect(await findServeFaults({ ...GATEWAY, ...env })).toEqual(faults);
  });
});

describe("told all at once, beside faults of one setting", () => {
  const project = makeProject();
  afterAll(project.remove);
  const env = {
    ...ALL,
    COOKIE_DOMAIN: "co.uk",
    IDENTITY_URL: "http://id.example.org",
    ADMIN_PORT: "8787",
    LOG_LEVEL: "secret-word",
  };
  const FAULTS = [
    "LOG_LEVEL must be one of debug, info, warn, error",
    SUFFIX,
    INSECURE.IDENTITY_URL,
    OUTSIDE.IDENTITY_URL,
    "ADMIN_PORT must not take PORT, which is for callers: both are 8787; leave PORT as it is and set another ADMIN_PORT, such as 9090",
  ];

  test.each(["serve", "migrate"])("by rowhouse %s", async (command) => {
    const { code, out, err } = await runHere([command], { ...project, env });
    const lines = FAULTS.map((fault) => `  ${fault}\n`).join("");
    expect([code, out]).toEqual([1, ""]);
    expect(err).toBe(`Cannot start: the configuration has faults\n${lines}`);
  });

  test("by rowhouse doctor, which goes on", async () => {
    const { code, out } = await runHere(["doctor", "--json"], { ...project, env });
    const { findings } = JSON.parse(out) as { findings: { about: string; says: string }[] };
    const told = findings.filter(({ about }) => about === "settings").map(({ says }) => says);
    expect([code, told]).toEqual([1, FAULTS]);
    expect(out).not.toContain("secret-word");
  });
});
