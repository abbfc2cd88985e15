/** Settings that are valid one by one but conflict: the issue of each, and commands that report all of them together. */
import { afterAll, describe, expect, test } from "bun:test";
import { findServeIssues } from "../../src/cli/settings.ts";
import { makeProject, runHere } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { expectIssues } from "../support/sentences.ts";

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

/** `issues` names the setting at the beginning of each issue, and other settings and values that the issue names. */
type Case = { name: string; env: Record<string, string>; issues: string[][] };

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
      issues: [["MAIL_FROM", "MAIL_URL"], ["IDENTITY_URL"]],
    },
    {
      name: "of a sender without a mail server",
      env: { ...HOSTS, MAIL_FROM: "me@example.org" },
      issues: [["MAIL_URL", "MAIL_FROM"]],
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
      issues: [
        ["IDENTITY_URL", "COOKIE_DOMAIN"],
        ["PUBLIC_URL", "COOKIE_DOMAIN"],
      ],
    },
    {
      name: "of a host with a similar suffix",
      env: { ...HOSTS, IDENTITY_URL: "https://badexample.org" },
      issues: [["IDENTITY_URL", "COOKIE_DOMAIN"]],
    },
    {
      name: "of http under a public domain",
      env: {
        ...HOSTS,
        IDENTITY_URL: "http://id.example.org",
        PUBLIC_URL: "http://api.example.org",
      },
      issues: [
        ["IDENTITY_URL", "https://"],
        ["PUBLIC_URL", "https://", "COOKIE_DOMAIN"],
      ],
    },
    ...["co.uk", "github.io", "a.ck", "xn--55qx5d.cn"].map((suffix) => ({
      name: `of the public suffix ${suffix}`,
      env: { COOKIE_DOMAIN: suffix, IDENTITY_URL: `https://id.${suffix}` },
      issues: [["COOKIE_DOMAIN", "public suffix"]],
    })),
    ...["example.co.uk", "wiki.github.io", "www.ck", "corp.internal"].map((domain) => ({
      name: `of the domain ${domain}`,
      env: { COOKIE_DOMAIN: domain, IDENTITY_URL: `https://id.${domain}` },
      issues: [],
    })),
    {
      name: "of an IP address as COOKIE_DOMAIN",
      env: { COOKIE_DOMAIN: "192.0.2.7" },
      issues: [["COOKIE_DOMAIN", "IP address"]],
    },
    {
      name: "of pages on a separate host without COOKIE_DOMAIN",
      env: { IDENTITY_URL: HOSTS.IDENTITY_URL },
      issues: [["COOKIE_DOMAIN", "IDENTITY_URL", "PUBLIC_URL"]],
    },
    {
      name: "of pages and API on one host with two schemes",
      env: {
        COOKIE_DOMAIN: "rowhouse.localhost",
        IDENTITY_URL: "https://rowhouse.localhost",
        PUBLIC_URL: "http://rowhouse.localhost",
      },
      issues: [["IDENTITY_URL", "PUBLIC_URL"]],
    },
    {
      name: "of one port for callers and operators",
      env: { ADMIN_PORT: "8787" },
      issues: [["ADMIN_PORT", " PORT", "8787", "9090"]],
    },
    {
      name: "of a range of operators' ports that includes the callers' port",
      env: { ADMIN_PORT: "9088", PORT: "9090", WORKERS: "4" },
      issues: [["ADMIN_PORT", " PORT", "4 WORKERS", "9088 to 9091", "9190"]],
    },
    {
      name: "of one port on two addresses",
      env: { ADMIN_PORT: "8787", HOST: "192.0.2.7" },
      issues: [],
    },
    {
      name: "of operators' ports above 65535",
      env: { ADMIN_PORT: "65535", WORKERS: "4" },
      issues: [["ADMIN_PORT", "65532", "WORKERS is 4"]],
    },
    {
      name: "of any free port for several processes",
      env: { PORT: "0", WORKERS: "2" },
      issues: [["PORT", "WORKERS"]],
    },
    {
      name: "of a login for actions that also serves",
      env: { CONSOLE_DATABASE_URL: ALL.DATABASE_URL },
      issues: [["CONSOLE_DATABASE_URL", " DATABASE_URL", "ADMIN_DATABASE_URL"]],
    },
    {
      name: "of one secret for two purposes",
      env: { ROLE: "identity", INTERNAL_HMAC_SECRET: `${"s".repeat(32)},${TEST_IDENTITY_SECRET}` },
      issues: [["IDENTITY_SECRET", "INTERNAL_HMAC_SECRET", "openssl rand -hex 32"]],
    },
  ])("$name have the expected issues", async ({ env, issues }) => {
    expectIssues(await findServeIssues({ ...ALL, ...env }), issues);
  });

  test.each<Case>([
    { name: "with its own services", env: {}, issues: [] },
    {
      name: "with one address for both services",
      env: { UPSTREAM_IDENTITY_URL: GATEWAY.UPSTREAM_DATA_URL },
      issues: [["UPSTREAM_IDENTITY_URL", "UPSTREAM_DATA_URL"]],
    },
    {
      name: "that forwards to its own port",
      env: { UPSTREAM_DATA_URL: "http://localhost:8787" },
      issues: [["UPSTREAM_DATA_URL", "gateway"]],
    },
    {
      name: "that forwards to its public address",
      env: {
        PUBLIC_URL: "https://api.example.org",
        UPSTREAM_IDENTITY_URL: "https://api.example.org",
      },
      issues: [["UPSTREAM_IDENTITY_URL", "gateway"]],
    },
  ])("of a gateway $name have the expected issues", async ({ env, issues }) => {
    expectIssues(await findServeIssues({ ...GATEWAY, ...env }), issues);
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
    ["LOG_LEVEL", "debug, info, warn, error"],
    ["COOKIE_DOMAIN", "public suffix"],
    ["IDENTITY_URL", "https://"],
    ["IDENTITY_URL", "COOKIE_DOMAIN"],
    ["ADMIN_PORT", " PORT", "8787"],
  ];

  test.each(["serve", "migrate"])("by rowhouse %s", async (command) => {
    const { code, out, err } = await runHere([command], { ...project, env });
    expect([code, out]).toEqual([1, ""]);
    const [, ...lines] = err.trimEnd().split("\n  ");
    expectIssues(lines, ISSUES);
  });

  test("by rowhouse doctor, which then continues", async () => {
    const { code, out } = await runHere(["doctor", "--json"], { ...project, env });
    const { findings } = JSON.parse(out) as { findings: { about: string; message: string }[] };
    const told = findings.filter(({ about }) => about === "settings").map(({ message }) => message);
    expect(code).toBe(1);
    expectIssues(told, ISSUES);
    expect(out).not.toContain("secret-word");
  });
});
