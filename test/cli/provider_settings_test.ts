/** The settings of sign-in providers are read together, and all invalid settings are reported together. */
import { describe, expect, test } from "bun:test";
import { findServeIssues } from "../../src/cli/settings.ts";
import { readConfig } from "../../src/settings/mod.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { expectIssues } from "../support/sentences.ts";

const GOOGLE = {
  OIDC_GOOGLE_ISSUER: "https://accounts.google.com",
  OIDC_GOOGLE_CLIENT_ID: "rowhouse",
  OIDC_GOOGLE_CLIENT_SECRET: "secret-word",
};

test("readConfig() reads every provider by its name", () => {
  const read = readConfig({
    ...GOOGLE,
    OIDC_OUR_OWN_ISSUER: "http://id.localhost:9000/realms/one",
    OIDC_OUR_OWN_CLIENT_ID: "wiki",
    OIDC_OUR_OWN_CLIENT_SECRET: "secret-word",
    OIDC_OUR_OWN_LABEL: "Our “Own”",
    OIDC_OUR_OWN_TRUSTED_DOMAINS: "example.org, example.com",
    OIDC_OUR_OWN_CREATE: "true",
    OIDC_OUR_OWN_SCOPES: "groups, https://example.org/roles",
    OIDC_OUR_OWN_ROLES:
      "groups:wiki editors=wiki:editor, realm_access.roles:CN%3DStaff%2COU%3AAll%25=todo:viewer,https%3A//a%2Eb/c:x=my-app:a_1",
    OIDC_EMPTY_ISSUER: "",
  });
  if ("issues" in read) throw new Error(read.issues.join("\n"));
  expect(read.config.providers).toEqual([
    {
      name: "google",
      issuer: "https://accounts.google.com",
      clientId: "rowhouse",
      clientSecret: "secret-word",
      label: "Google",
      trustedDomains: [],
      creates: false,
      scopes: [],
      roles: [],
    },
    {
      name: "our-own",
      issuer: "http://id.localhost:9000/realms/one",
      clientId: "wiki",
      clientSecret: "secret-word",
      label: "Our “Own”",
      trustedDomains: ["example.org", "example.com"],
      creates: true,
      scopes: ["groups", "https://example.org/roles"],
      roles: [
        { claim: ["groups"], value: "wiki editors", slug: "wiki", role: "editor" },
        {
          claim: ["realm_access", "roles"],
          value: "CN=Staff,OU:All%",
          slug: "todo",
          role: "viewer",
        },
        { claim: ["https://a.b/c"], value: "x", slug: "my-app", role: "a_1" },
      ],
    },
  ]);
});

describe("readConfig() rejects a provider", () => {
  test.each<{ name: string; env: Record<string, string>; issues: string[][] }>([
    {
      name: "without required values",
      env: { OIDC_GOOGLE_LABEL: "Google" },
      issues: [["OIDC_GOOGLE_ISSUER"], ["OIDC_GOOGLE_CLIENT_ID"], ["OIDC_GOOGLE_CLIENT_SECRET"]],
    },
    ...[
      "http://accounts.google.com",
      "https://accounts.google.com?x",
      "https://user@accounts.google.com",
      "accounts.google.com",
      "http://localhost.example.org",
    ].map((issuer) => ({
      name: `of the issuer ${issuer}`,
      env: { ...GOOGLE, OIDC_GOOGLE_ISSUER: issuer },
      issues: [["OIDC_GOOGLE_ISSUER", "https://accounts.example.com"]],
    })),
    {
      name: "that accepts all accounts, together with a misspelled setting",
      env: { ...GOOGLE, OIDC_GOOGLE_CREATE: "true", OIDC_GOOGLE_CLIENTID: "x" },
      issues: [
        ["OIDC_GOOGLE_CLIENTID", ".env.example"],
        ["OIDC_GOOGLE_TRUSTED_DOMAINS", "OIDC_GOOGLE_CREATE"],
      ],
    },
    {
      name: "with an address as domain, an invalid switch and an invisible label",
      env: {
        ...GOOGLE,
        OIDC_GOOGLE_TRUSTED_DOMAINS: "example.org,ada@example.com",
        OIDC_GOOGLE_CREATE: "perhaps",
        OIDC_GOOGLE_LABEL: "a\u202eb",
      },
      issues: [
        ["OIDC_GOOGLE_LABEL", "1 to 40"],
        ["OIDC_GOOGLE_TRUSTED_DOMAINS", "example.org"],
        ["OIDC_GOOGLE_CREATE", "true", "false"],
      ],
    },
    ...[
      ...["groups", "groups:=wiki:editor", "groups:a=wiki", "groups:a=wiki:super_admin"],
      ...["groups:a=Wiki:editor", "groups:a=wiki:Editor", "groups:%=wiki:editor"],
      ...["a..b:a=wiki:editor", "groups:CN=x=wiki:editor", "groups:b=wiki:editor, groups:a=wiki"],
    ].map((rules) => ({
      name: `with the rules ${rules}, and a scope with another letter`,
      env: { ...GOOGLE, OIDC_GOOGLE_ROLES: rules, OIDC_GOOGLE_SCOPES: "groups,rôles" },
      issues: [
        ["OIDC_GOOGLE_SCOPES"],
        ["OIDC_GOOGLE_ROLES", "claim:value=app:role", `"${rules.split(", ").at(-1)}"`, "%2C"],
      ],
    })),
    {
      name: "with the issuer of another provider",
      env: {
        ...GOOGLE,
        OIDC_OTHER_ISSUER: GOOGLE.OIDC_GOOGLE_ISSUER,
        OIDC_OTHER_CLIENT_ID: "b",
        OIDC_OTHER_CLIENT_SECRET: "secret-word",
      },
      issues: [["OIDC_OTHER_ISSUER"]],
    },
    {
      name: "in a process without sign-in",
      env: { ...GOOGLE, ROLE: "data", INTERNAL_HMAC_SECRET: "s".repeat(32) },
      issues: ["ISSUER", "CLIENT_ID", "CLIENT_SECRET"].map((key) => [
        `OIDC_GOOGLE_${key}`,
        "ROLE is data",
      ]),
    },
  ])("$name", ({ env, issues }) => {
    const read = readConfig(env);
    expectIssues("issues" in read ? read.issues : [], issues);
  });
});

test("a provider is rejected if the pages have no address", async () => {
  const env = {
    ...GOOGLE,
    DATABASE_URL: "postgres://serving@127.0.0.1:1/none",
    IDENTITY_SECRET: TEST_IDENTITY_SECRET,
  };
  expectIssues(await findServeIssues(env), [["IDENTITY_URL"]]);
  expect(await findServeIssues({ ...env, PUBLIC_URL: "https://id.example.org" })).toEqual([]);
});
