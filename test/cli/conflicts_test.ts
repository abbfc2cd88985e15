/** Settings that are valid one by one but conflict: the issue of each, and commands that report all of them together. */
import { afterAll, describe, expect, test } from "bun:test";
import { findServeIssues } from "../../src/cli/settings.ts";
import { cases } from "../support/cases.ts";
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

const MACHINE = "rowhouse.localhost";

/** Reads "HOSTS, NAME=value". */
function readEnv(text: string): Record<string, string> {
  const settings = text.split(", ").filter((setting) => setting.includes("="));
  const read = settings.map((setting) => setting.split(/=(.*)/).slice(0, 2));
  return { ...(text.startsWith("HOSTS") ? HOSTS : {}), ...Object.fromEntries(read) };
}

/** Reads issues: each begins with a setting, and names the other settings and values. */
function readIssues(text: string): string[][] {
  return text === "" ? [] : text.split("; ").map((issue) => issue.split(", "));
}

describe("settings", () => {
  const SETTINGS = cases("name", "env", "issues")`
    pages and API under one domain    | HOSTS
    mail                              | HOSTS, MAIL_URL=smtps://user:word@mail.example.org, MAIL_FROM=Rowhouse <me@example.org>
    mail without an origin or sender  | MAIL_URL=smtp://mail.example.org:587 | MAIL_FROM, MAIL_URL; IDENTITY_URL
    a sender without a mail server    | HOSTS, MAIL_FROM=me@example.org | MAIL_URL, MAIL_FROM
    pages on the domain itself        | COOKIE_DOMAIN=example.org, IDENTITY_URL=https://example.org
    one machine                       | COOKIE_DOMAIN=${MACHINE}, IDENTITY_URL=http://id.${MACHINE}:8787, PUBLIC_URL=http://api.${MACHINE}:8787
    one host for both, without apps   | PUBLIC_URL=https://example.org, IDENTITY_URL=https://example.org
    an API without TLS and sign-in    | PUBLIC_URL=http://api
    hosts outside COOKIE_DOMAIN       | HOSTS, COOKIE_DOMAIN=example.com | IDENTITY_URL, COOKIE_DOMAIN; PUBLIC_URL, COOKIE_DOMAIN
    a host with a similar suffix      | HOSTS, IDENTITY_URL=https://badexample.org | IDENTITY_URL, COOKIE_DOMAIN
    http under a public domain        | HOSTS, IDENTITY_URL=http://id.example.org, PUBLIC_URL=http://api.example.org | IDENTITY_URL, https://; PUBLIC_URL, https://, COOKIE_DOMAIN
    the public suffix co.uk           | COOKIE_DOMAIN=co.uk, IDENTITY_URL=https://id.co.uk | COOKIE_DOMAIN, public suffix
    the public suffix github.io       | COOKIE_DOMAIN=github.io, IDENTITY_URL=https://id.github.io | COOKIE_DOMAIN, public suffix
    the public suffix a.ck            | COOKIE_DOMAIN=a.ck, IDENTITY_URL=https://id.a.ck | COOKIE_DOMAIN, public suffix
    the public suffix xn--55qx5d.cn   | COOKIE_DOMAIN=xn--55qx5d.cn, IDENTITY_URL=https://id.xn--55qx5d.cn | COOKIE_DOMAIN, public suffix
    the domain example.co.uk          | COOKIE_DOMAIN=example.co.uk, IDENTITY_URL=https://id.example.co.uk
    the domain wiki.github.io         | COOKIE_DOMAIN=wiki.github.io, IDENTITY_URL=https://id.wiki.github.io
    the domain www.ck                 | COOKIE_DOMAIN=www.ck, IDENTITY_URL=https://id.www.ck
    the domain corp.internal          | COOKIE_DOMAIN=corp.internal, IDENTITY_URL=https://id.corp.internal
    an IP address as COOKIE_DOMAIN    | COOKIE_DOMAIN=192.0.2.7 | COOKIE_DOMAIN, IP address
    pages without COOKIE_DOMAIN       | IDENTITY_URL=${HOSTS.IDENTITY_URL} | COOKIE_DOMAIN, IDENTITY_URL, PUBLIC_URL
    one host with two schemes         | COOKIE_DOMAIN=${MACHINE}, IDENTITY_URL=https://${MACHINE}, PUBLIC_URL=http://${MACHINE} | IDENTITY_URL, PUBLIC_URL
    one port for two purposes         | ADMIN_PORT=8787 | ADMIN_PORT,  PORT, 8787, 9090
    ranges of ports that overlap      | ADMIN_PORT=9088, PORT=9090, WORKERS=4 | ADMIN_PORT,  PORT, 4 WORKERS, 9088 to 9091, 9190
    one port on two addresses         | ADMIN_PORT=8787, HOST=192.0.2.7
    operators' ports above 65535      | ADMIN_PORT=65535, WORKERS=4 | ADMIN_PORT, 65532, WORKERS is 4
    any free port for processes       | PORT=0, WORKERS=2 | PORT, WORKERS
    a login for actions that serves   | CONSOLE_DATABASE_URL=${ALL.DATABASE_URL} | CONSOLE_DATABASE_URL,  DATABASE_URL, ADMIN_DATABASE_URL
    one secret for two purposes       | ROLE=identity, INTERNAL_HMAC_SECRET=${"s".repeat(32)},${TEST_IDENTITY_SECRET} | IDENTITY_SECRET, INTERNAL_HMAC_SECRET, openssl rand -hex 32
  `;
  test.each(SETTINGS)("of $name have the expected issues", async ({ env, issues }) => {
    expectIssues(await findServeIssues({ ...ALL, ...readEnv(env) }), readIssues(issues));
  });

  const FORWARDING = cases("name", "env", "issues")`
    with its own services              |
    with one address for both services | UPSTREAM_IDENTITY_URL=${GATEWAY.UPSTREAM_DATA_URL} | UPSTREAM_IDENTITY_URL, UPSTREAM_DATA_URL
    that forwards to its own port      | UPSTREAM_DATA_URL=http://localhost:8787 | UPSTREAM_DATA_URL, gateway
    that forwards to its own address   | PUBLIC_URL=https://api.example.org, UPSTREAM_IDENTITY_URL=https://api.example.org | UPSTREAM_IDENTITY_URL, gateway
  `;
  test.each(FORWARDING)("of a gateway $name have the expected issues", async ({ env, issues }) => {
    expectIssues(await findServeIssues({ ...GATEWAY, ...readEnv(env) }), readIssues(issues));
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
