/** Settings are understood as people paste them, or the error names the expected form, never the value. */
import { describe, expect, test } from "bun:test";
import { findServeIssues, hasPeople } from "../../src/cli/settings.ts";
import { LIMIT_ROWS, type LimitVariable } from "../../src/limit_setting.ts";
import { type PROVIDER_SETTINGS, readConfig, SETTINGS } from "../../src/settings/mod.ts";

const toTexts = <Name extends LimitVariable>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, SETTINGS[name].initial])) as Record<Name, string>;

/** A value of each setting in the form that .env.example shows. */
const PLAIN: Record<keyof typeof SETTINGS, string> = {
  DATABASE_URL: "postgres://u:p@db.example.org:5432/rowhouse",
  ADMIN_DATABASE_URL: "postgres://u:p@db.example.org/rowhouse?sslmode=require",
  CONSOLE_DATABASE_URL: "postgresql://u:p@[::1]:5432/rowhouse",
  IDENTITY_DATABASE_URL: "postgres://u@127.0.0.1/rowhouse",
  IDENTITY_DATABASE_POOL: "7",
  ROWS_DATABASE_URL: "postgres://u:p%40@db.example.org/rowhouse",
  DATABASE_POOL: "7",
  CITUS_NODE_POOL: "7",
  ...toTexts(LIMIT_ROWS.map(([, { variable }]) => variable)),
  DATABASE_PREPARE: "off",
  PREVIEW: "filters",
  HOST: "::1",
  PORT: "8787",
  ROLE: "identity",
  UPSTREAM_DATA_URL: "https://api.example.org",
  UPSTREAM_IDENTITY_URL: "https://api.example.org",
  UPSTREAM_GATEWAY_URL: "https://api.example.org",
  INTERNAL_HMAC_SECRET: "s".repeat(64),
  INTERNAL_HMAC_SECRET_DATA: "s".repeat(64),
  INTERNAL_HMAC_SECRET_IDENTITY: "s".repeat(64),
  IDENTITY_SECRET: "s".repeat(64),
  MAIL_URL: "smtps://u:p@mail.example.org",
  ORGANIZATION_NAME: "Ada’s “Lab”",
  ORGANIZATION_LOGO: "docs/console_apps.png",
  MAIL_FROM: "Rowhouse <no-reply@example.org>",
  TRUSTED_PROXIES: "10.0.0.0/8",
  ADMIN_HOST: "127.0.0.1",
  ADMIN_PORT: "9090",
  WORKERS: "2",
  PUBLIC_URL: "https://api.example.org",
  IDENTITY_URL: "https://id.example.org",
  SESSION_IDLE: "30m",
  SESSION_MAX: "7d",
  REQUIRE_SECOND_FACTOR: "all",
  AUDIT_RETENTION: "400d",
  COOKIE_DOMAIN: "example.org",
  API_KEY_PREFIX: "rh",
  LOG_LEVEL: "warn",
  ROWHOUSE_URL: "https://api.example.org",
  ROWHOUSE_API_KEY: `rh_0123456789abcdef.${"aB3".repeat(16)}x`,
};
const PROVIDER: Record<keyof typeof PROVIDER_SETTINGS, string> = {
  ISSUER: "https://accounts.example.com/",
  CLIENT_ID: "rowhouse",
  CLIENT_SECRET: "secret-word",
  LABEL: "Our “Own”",
  TRUSTED_DOMAINS: "example.org",
  CREATE: "true",
  PROMPT: "login",
  SCOPES: "groups",
  ROLES: "groups:wiki editors=wiki:editor",
};
const ALL = {
  ...PLAIN,
  ...Object.fromEntries(Object.entries(PROVIDER).map(([key, text]) => [`OIDC_CORP_${key}`, text])),
};

/** The characters that editors, shells, systemd, Compose and `docker --env-file` leave around a value. */
const AROUND: Record<string, (text: string, name: string) => string> = {
  spaces: (text) => `  ${text}\t `,
  "a Windows line end": (text) => `${text}\r`,
  "a line end": (text) => `${text}\n`,
  "no-break spaces": (text) => `\u00a0${text}\u202f`,
  "zero-width characters and a byte order mark": (text) => `\ufeff\u200b${text}\u200d`,
  "double quotes": (text) => `"${text}"`,
  "single quotes and a Windows line end": (text) => `'${text}'\r\n`,
  "its own name": (text, name) => `export ${name}="${text}"`,
};

function read(env: Record<string, string>) {
  const found = readConfig(env, { checksRole: false });
  return "issues" in found ? found.issues : found.config;
}

const logo = { ORGANIZATION_LOGO: "" };

describe("every setting is the same with", () => {
  const plain = read({ ...ALL, ...logo });
  test("nothing around it", () => expect(plain).toHaveProperty("providers"));
  test.each(Object.entries(AROUND))("%s around it", (_, wrap) => {
    const pasted = Object.entries({ ...ALL, ...logo }).map(([name, text]) => [
      name,
      text === "" ? "" : wrap(text, name),
    ]);
    expect(read(Object.fromEntries(pasted))).toEqual(plain);
  });
});

test("a role, and a setting that is only spaces or quotes, count as they are read", async () => {
  expect(hasPeople({ ROLE: '"Data"' })).toBe(false);
  expect(await findServeIssues({ DATABASE_URL: " ", IDENTITY_SECRET: '""' })).toEqual([
    "DATABASE_URL is not set: see .env.example",
    "IDENTITY_SECRET is not set: create one with openssl rand -hex 32",
  ]);
});

const ORIGIN_SETTINGS = [
  ...["UPSTREAM_DATA_URL", "UPSTREAM_IDENTITY_URL", "UPSTREAM_GATEWAY_URL"],
  ...["PUBLIC_URL", "IDENTITY_URL", "ROWHOUSE_URL"],
];
const namesOf = (end: RegExp) => Object.keys(SETTINGS).filter((name) => end.test(name));
const each = (names: readonly string[], pasted: readonly string[], expected: unknown) =>
  names.flatMap((name) => pasted.map((text) => ({ name, text, expected })));

describe("a setting is understood:", () => {
  test.each([
    ...each(
      ORIGIN_SETTINGS,
      ["https://api.example.org/", "https://API.example.org//", "https://api.example.org:443"],
      "https://api.example.org",
    ),
    ...each(ORIGIN_SETTINGS, ["https://müller.example/"], "https://xn--mller-kva.example"),
    ...each(
      namesOf(/DATABASE_URL$/),
      ["postgres://u:p@müller.example:5432/db", "psql 'postgres://u:p@müller.example:5432/db/'"],
      "postgres://u:p@xn--mller-kva.example:5432/db",
    ),
    ...each(["MAIL_URL"], ["smtp://müller.example:587"], "smtp://xn--mller-kva.example:587"),
    ...each(
      ["TRUSTED_PROXIES"],
      [
        ...["10.0.0.0/8,::1", "10.0.0.0/8; [::1]", "10.0.0.0/8 ::1", "10.0.0.0/8\r\n::1\n"],
        ...['["10.0.0.0/8","::1"]', "10.0.0.0/8,\u200b::1,", "１０.0.0.0/8、::1"],
      ],
      ["10.0.0.0/8", "::1"],
    ),
    ...each(
      ["COOKIE_DOMAIN"],
      [
        ...[
          ".example.org",
          "Example.ORG",
          "https://example.org/",
          "example.org:443",
          "example.org.",
        ],
        "http://.example.org:8080",
      ],
      "example.org",
    ),
    ...each(["COOKIE_DOMAIN"], ["müller.example", ".MÜLLER.example"], "xn--mller-kva.example"),
    ...each(
      ["MAIL_FROM"],
      ['"Rowhouse" <no-reply@example.org>', "Rowhouse <mailto:no-reply@example.org>"],
      { name: "Rowhouse", address: "no-reply@example.org" },
    ),
    ...each(["MAIL_FROM"], ["mailto:no-reply@müller.example", "<no-reply@müller.example>"], {
      name: "",
      address: "no-reply@xn--mller-kva.example",
    }),
    ...each(["HOST", "ADMIN_HOST"], ["[::1]"], "::1"),
    ...each(
      ["SESSION_IDLE", "SESSION_MAX"],
      ["15m", "15 m", "15 min", "15 minutes", "１５ Min", "900s", "900 seconds", "900 Sec"],
      900,
    ),
    ...each(["AUDIT_RETENTION"], ["0", "0d"], 0),
    ...each(["AUDIT_RETENTION"], ["400 days"], 34_560_000),
    ...each(["DATABASE_PREPARE"], ["on", "ON", "true", "1", "yes", "True"], true),
    ...each(["DATABASE_PREPARE"], ["OFF", "false", "0", "no"], false),
    ...each(namesOf(/_BYTES$/), ["1048576", "1 MiB", "1024KiB", "1048576 bytes"], 1_048_576),
    ...each(["PORT", "ADMIN_PORT"], ["８７８７"], 8787),
    ...each(["PREVIEW"], ["filters live", "Filters; live"], ["filters", "live"]),
    ...each(
      ["ROWHOUSE_API_KEY"],
      ["Bearer rh_0.a\r\n  b", "Authorization: bearer rh_0.a\u200bb"],
      "rh_0.ab",
    ),
    ...each(["LOG_LEVEL"], ["WARN"], "warn"),
    ...each(["REQUIRE_SECOND_FACTOR"], ["All"], "all"),
    ...each(["ROLE"], ["Identity"], "identity"),
  ])("$name=$text", ({ name, text, expected }) => {
    expect(read({ [name]: text })).toMatchObject({ [name]: expected });
  });
  test("the lists and switches of a provider", () => {
    expect(
      read({
        OIDC_CORP_ISSUER: "https://müller.example/realms/One/",
        OIDC_CORP_CLIENT_ID: "wiki",
        OIDC_CORP_CLIENT_SECRET: "secret-word\n",
        OIDC_CORP_TRUSTED_DOMAINS: "@Example.org; müller.example",
        OIDC_CORP_CREATE: "Yes",
        OIDC_CORP_PROMPT: "LOGIN",
        OIDC_CORP_SCOPES: "groups roles",
        OIDC_CORP_ROLES: "groups:a b=wiki:editor,\r\ngroups:c=wiki:viewer,",
      }),
    ).toMatchObject({
      providers: [
        {
          issuer: "https://xn--mller-kva.example/realms/One/",
          clientSecret: "secret-word",
          trustedDomains: ["example.org", "xn--mller-kva.example"],
          creates: true,
          prompt: "login",
          scopes: ["groups", "roles"],
          roles: [{ value: "a b" }, { value: "c" }],
        },
      ],
    });
  });
});

describe("the error names the form and not the value:", () => {
  const escapes = "in the user and the password, write %40 for @, %2F for /";
  const secret = "zebra";
  test.each([
    ...each(
      namesOf(/DATABASE_URL$/),
      [
        ...["#", "/", "?", "%", "@/", "%z", "1#", "1/", "1?"].map(
          (sign) => `postgres://u:${sign}${secret}@host/db`,
        ),
        ...[`postgres://u:a@${secret}/b@host/db`, `host=db.example.org password=${secret}`],
      ],
      escapes,
    ),
    ...each(["MAIL_URL"], [`smtp://u:%${secret}@host`, `smtp://u:#${secret}@host`], escapes),
    ...each(
      ORIGIN_SETTINGS,
      [`${secret}.example.org`, `${secret}:8787`, `//${secret}.example.org`],
      "must start with https:// or http://, such as https://api.example.org",
    ),
    ...each(
      ORIGIN_SETTINGS,
      [`https://${secret}.example.org/v1`, `https://u:${secret}@example.org`],
      "without a user, a path or a query",
    ),
    ...each(["INTERNAL_HMAC_SECRET", "IDENTITY_SECRET"], [`${secret}\n`], "openssl rand -base64"),
    ...each(["HOST", "ADMIN_HOST"], ["0.0.0.0:8787", "http://0.0.0.0"], "without a port"),
    ...each(["SESSION_IDLE"], ["30", "12M", "1.5h"], "such as 30m, 24h or 7d"),
    ...each(namesOf(/_BYTES$/), ["64 MB", "1,5 GiB"], "must be a number of bytes from"),
    ...each(
      ["OIDC_CORP_ISSUER"],
      ["https://id.example/.well-known/openid-configuration"],
      "exactly",
    ),
  ])("$name=$text", ({ name, text, expected }) => {
    const issues = read({ [name]: text });
    expect(issues).toContainEqual(expect.stringContaining(String(expected)));
    expect(JSON.stringify(issues)).not.toContain(secret);
  });
});
