/** Settings that are valid one by one but conflict: the exact text of each, and commands that report all of them together. */
import { afterAll, describe, expect, test } from "bun:test";
import { findServeIssues } from "../../src/cli/settings.ts";
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
    "IDENTITY_URL must be COOKIE_DOMAIN or a host under it: browsers reject the session cookie from any other host; correct the wrong setting",
  PUBLIC_URL:
    "PUBLIC_URL must be COOKIE_DOMAIN or a host under it: browsers send the session cookie to no other host; correct the wrong setting",
};
const INSECURE = {
  IDENTITY_URL:
    "IDENTITY_URL must begin with https://: over http browsers accept its cookies only for hosts under localhost; add TLS and set the https origin",
  PUBLIC_URL:
    "PUBLIC_URL must begin with https:// if COOKIE_DOMAIN is set: over http browsers send the session cookie only to hosts under localhost; add TLS and set the https origin",
};
const SUFFIX =
  "COOKIE_DOMAIN must not be a public suffix, under which anyone can register a host: browsers reject cookies for it; set your own domain under it";
const ITSELF = (name: string) =>
  `${name} must not be the gateway's own address, because the gateway would forward to itself: set the origin of the service, on another PORT`;

type Case = { name: string; env: Record<string, string>; issues: string[] };

describe("settings", () => {
  test.each<Case>([
    { name: "of pages and API under one domain", env: HOSTS, issues: [] },
    {
      name: "of mail",
      env: {
        ...HOSTS,
        MAIL_URL: "smtps://user:word@mail.example.org",
        MAIL_FROM: "Rowhouse <me@example.org>",
      },
      issues: [],
    },
    {
      name: "of mail without an origin or a sender",
      env: { MAIL_URL: "smtp://mail.example.org:587" },
      issues: [
        "MAIL_FROM must be set with MAIL_URL: set an address that the mail server sends for, such as Rowhouse <no-reply@example.org>",
        "IDENTITY_URL must be set if emails are sent, because links in emails use it: set the origin of the pages",
      ],
    },
    {
      name: "of a sender without a mail server",
      env: { ...HOSTS, MAIL_FROM: "me@example.org" },
      issues: ["MAIL_URL must be set with MAIL_FROM: set the mail server, or unset both"],
    },
    {
      name: "of pages on the domain itself",
      env: { COOKIE_DOMAIN: "example.org", IDENTITY_URL: "https://example.org" },
      issues: [],
    },
    {
      name: "of one machine",
      env: {
        COOKIE_DOMAIN: "rowhouse.localhost",
        IDENTITY_URL: "http://id.rowhouse.localhost:8787",
        PUBLIC_URL: "http://api.rowhouse.localhost:8787",
      },
      issues: [],
    },
    {
      name: "of one host for both, without apps",
      env: { PUBLIC_URL: "https://example.org", IDENTITY_URL: "https://example.org" },
      issues: [],
    },
    {
      name: "of an API without TLS in a process without sign-in",
      env: { PUBLIC_URL: "http://api" },
      issues: [],
    },
    {
      name: "of hosts outside COOKIE_DOMAIN",
      env: { ...HOSTS, COOKIE_DOMAIN: "example.com" },
      issues: [OUTSIDE.IDENTITY_URL, OUTSIDE.PUBLIC_URL],
    },
    {
      name: "of a host with a similar suffix",
      env: { ...HOSTS, IDENTITY_URL: "https://badexample.org" },
      issues: [OUTSIDE.IDENTITY_URL],
    },
    {
      name: "of http under a public domain",
      env: {
        ...HOSTS,
        IDENTITY_URL: "http://id.example.org",
        PUBLIC_URL: "http://api.example.org",
      },
      issues: [INSECURE.IDENTITY_URL, INSECURE.PUBLIC_URL],
    },
    ...["co.uk", "github.io", "a.ck", "xn--55qx5d.cn"].map((suffix) => ({
      name: `of the public suffix ${suffix}`,
      env: { COOKIE_DOMAIN: suffix, IDENTITY_URL: `https://id.${suffix}` },
      issues: [SUFFIX],
    })),
    ...["example.co.uk", "wiki.github.io", "www.ck", "corp.internal"].map((domain) => ({
      name: `of the domain ${domain}`,
      env: { COOKIE_DOMAIN: domain, IDENTITY_URL: `https://id.${domain}` },
      issues: [],
    })),
    {
      name: "of an IP address as COOKIE_DOMAIN",
      env: { COOKIE_DOMAIN: "192.0.2.7" },
      issues: [
        "COOKIE_DOMAIN must be a domain, not an IP address: browsers do not share cookies between hosts of an IP address; use host names under one domain, such as example.org",
      ],
    },
    {
      name: "of pages on a separate host without COOKIE_DOMAIN",
      env: { IDENTITY_URL: HOSTS.IDENTITY_URL },
      issues: [
        "COOKIE_DOMAIN must be set if IDENTITY_URL differs from PUBLIC_URL: without it a sign-in is valid only on that host; set the parent domain of both and of all apps, such as example.org",
      ],
    },
    {
      name: "of pages and API on one host with two schemes",
      env: {
        COOKIE_DOMAIN: "rowhouse.localhost",
        IDENTITY_URL: "https://rowhouse.localhost",
        PUBLIC_URL: "http://rowhouse.localhost",
      },
      issues: [
        "IDENTITY_URL must equal PUBLIC_URL or have another host: requests for the pages and the API are distinguished only by host; use the same scheme for both, or a separate host for the pages, such as https://id.example.org",
      ],
    },
    {
      name: "of one port for callers and operators",
      env: { ADMIN_PORT: "8787" },
      issues: [
        "ADMIN_PORT must not include PORT, which is for clients: both are 8787; set another ADMIN_PORT, such as 9090",
      ],
    },
    {
      name: "of a range of operators' ports that includes the callers' port",
      env: { ADMIN_PORT: "9088", PORT: "9090", WORKERS: "4" },
      issues: [
        "ADMIN_PORT must not include PORT, which is for clients: the 4 WORKERS would use 9088 to 9091; set another ADMIN_PORT, such as 9190",
      ],
    },
    {
      name: "of one port on two addresses",
      env: { ADMIN_PORT: "8787", HOST: "192.0.2.7" },
      issues: [],
    },
    {
      name: "of operators' ports above 65535",
      env: { ADMIN_PORT: "65535", WORKERS: "4" },
      issues: [
        "ADMIN_PORT must be at most 65532 if WORKERS is 4, because each worker uses the next port: set a lower port",
      ],
    },
    {
      name: "of any free port for several processes",
      env: { PORT: "0", WORKERS: "2" },
      issues: [
        "PORT must be above 0 if WORKERS is above 1, because the processes share it: set PORT to the port that clients connect to",
      ],
    },
    {
      name: "of a login for actions that also serves",
      env: { CONSOLE_DATABASE_URL: ALL.DATABASE_URL },
      issues: [
        "CONSOLE_DATABASE_URL must name its own login, not the login of DATABASE_URL or ADMIN_DATABASE_URL: create a role with only the attribute LOGIN",
      ],
    },
    {
      name: "of one secret for two purposes",
      env: {
        ROLE: "identity",
        INTERNAL_HMAC_SECRET: `${"s".repeat(32)},${TEST_IDENTITY_SECRET}`,
      },
      issues: [
        "IDENTITY_SECRET must differ from INTERNAL_HMAC_SECRET, which the gateway also has: create another secret with openssl rand -hex 32",
      ],
    },
  ])("$name have the expected issues", async ({ env, issues }) => {
    expect(await findServeIssues({ ...ALL, ...env })).toEqual(issues);
  });

  test.each<Case>([
    { name: "with its own services", env: {}, issues: [] },
    {
      name: "with one address for both services",
      env: { UPSTREAM_IDENTITY_URL: GATEWAY.UPSTREAM_DATA_URL },
      issues: [
        "UPSTREAM_IDENTITY_URL must differ from UPSTREAM_DATA_URL: each service rejects requests signed for the other; use different ports or hosts, and correct the wrong setting",
      ],
    },
    {
      name: "that forwards to its own port",
      env: { UPSTREAM_DATA_URL: "http://localhost:8787" },
      issues: [ITSELF("UPSTREAM_DATA_URL")],
    },
    {
      name: "that forwards to its public address",
      env: {
        PUBLIC_URL: "https://api.example.org",
        UPSTREAM_IDENTITY_URL: "https://api.example.org",
      },
      issues: [ITSELF("UPSTREAM_IDENTITY_URL")],
    },
  ])("of a gateway $name have the expected issues", async ({ env, issues }) => {
    expect(await findServeIssues({ ...GATEWAY, ...env })).toEqual(issues);
  });
});

describe("conflicts are reported together with invalid single settings", () => {
  const project = makeProject();
  afterAll(project.remove);
  const env = {
    ...ALL,
    COOKIE_DOMAIN: "co.uk",
    IDENTITY_URL: "http://id.example.org",
    ADMIN_PORT: "8787",
    LOG_LEVEL: "secret-word",
  };
  const ISSUES = [
    "LOG_LEVEL must be one of debug, info, warn, error",
    SUFFIX,
    INSECURE.IDENTITY_URL,
    OUTSIDE.IDENTITY_URL,
    "ADMIN_PORT must not include PORT, which is for clients: both are 8787; set another ADMIN_PORT, such as 9090",
  ];

  test.each(["serve", "migrate"])("by rowhouse %s", async (command) => {
    const { code, out, err } = await runHere([command], { ...project, env });
    const lines = ISSUES.map((issue) => `  ${issue}\n`).join("");
    expect([code, out]).toEqual([1, ""]);
    expect(err).toBe(`Cannot start: invalid configuration\n${lines}`);
  });

  test("by rowhouse doctor, which then continues", async () => {
    const { code, out } = await runHere(["doctor", "--json"], { ...project, env });
    const { findings } = JSON.parse(out) as { findings: { about: string; message: string }[] };
    const told = findings.filter(({ about }) => about === "settings").map(({ message }) => message);
    expect([code, told]).toEqual([1, ISSUES]);
    expect(out).not.toContain("secret-word");
  });
});
