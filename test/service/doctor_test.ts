import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import type { MigrationState } from "../../src/db/mod.ts";
import { type CheckResult, fail } from "../../src/service/check_result.ts";
import { evaluateDriver, evaluateSecrets } from "../../src/service/databases.ts";
import { evaluateMails } from "../../src/service/doctor/checks.ts";
import { CHECKS, runChecks } from "../../src/service/doctor/doctor.ts";
import { evaluateIdentitySecrets } from "../../src/service/doctor/identity_values.ts";
import { evaluateMigrations } from "../../src/service/doctor/schema_state.ts";
import {
  evaluateClock,
  evaluateFailureLog,
  evaluateParameterLog,
  evaluateTemp,
  evaluateVersion,
  type Session,
} from "../../src/service/doctor/session.ts";
import {
  evaluateConsoleLogin,
  evaluateLoginLimits,
  evaluatePushingLogin,
  evaluateServingLogin,
  type Login,
} from "../../src/service/logins.ts";
import { digestRelease, recordRelease } from "../../src/tables/mod.ts";
import {
  LOGIN,
  makeDatabase,
  makeEmptyDatabase,
  type TestDatabase,
  toLogin,
  withDatabase,
} from "../support/cluster.ts";
import {
  makeProject,
  type Outcome,
  runCommand,
  runHere,
  type Settings,
  startCommand,
} from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openGreetedServer, openMailServer } from "../support/mail_server.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { startProvider } from "../support/provider.ts";
import { share } from "../support/share.ts";

/** The hint of a rejected password. */
const ESCAPES =
  "a .env file needs \\$ for each $ of it, in every kind of quotes, and a URL %40 for @, %2F for / and %25 for %";

const WELL: Session = {
  version: 18,
  login: "login",
  database: "rowhouse",
  publicTemp: false,
  logsParameters: false,
  logsFailures: false,
  openFunctions: [],
  epochMs: 1_000_000,
};

/** A migrated database. */
const CURRENT: MigrationState = {
  missing: [],
  edited: [],
  gap: undefined,
  later: undefined,
  hasCode: true,
  isContracted: true,
};
const MAILS = { hasSender: false, waiting: 0, oldestS: 0, givenUp: 0 };

const GATEWAY = {
  ROLE: "gateway",
  UPSTREAM_DATA_URL: "http://data:8787",
  UPSTREAM_IDENTITY_URL: "http://identity:8787",
  INTERNAL_HMAC_SECRET: "s".repeat(32),
};

const SERVING: Login = {
  login: "login",
  database: "rowhouse",
  isSuperuser: false,
  bypassesRls: false,
  createsRoles: false,
  memberOf: ["rowhouse_data"],
  otherRoles: [],
  statementTimeoutMs: 30_000,
  connectionLimit: 30,
  tempFileLimitKb: 262_144,
};
const PUSHING: Login = {
  ...SERVING,
  memberOf: ["rowhouse_tables", "rowhouse_tenant"],
  statementTimeoutMs: 0,
};
const CONSOLE: Login = { ...SERVING, memberOf: ["rowhouse_console"] };
const makeSecretUse = (secretId: string) => ({
  secretId,
  passwords: 2,
  sessions: 1,
  links: 0,
  providerLinks: 0,
  secondFactors: 0,
  claimedRoles: 0,
  addresses: 0,
});

type Level = "ok" | "warn" | "fail";
/** What it is, and the levels of its findings. */
type Case = readonly [name: string, findings: readonly CheckResult[], ...want: Level[]];
type LoginCase = readonly [name: string, login: Partial<Login>, ...want: Level[]];

/** Cases of logins that differ in a part. */
const ofLogins = (
  toName: (name: string) => string,
  evaluate: (login: Partial<Login>) => readonly CheckResult[],
  cases: readonly LoginCase[],
): Case[] => cases.map(([name, login, ...want]) => [toName(name), evaluate(login), ...want]);

const inRole = (role: string, of: string, want: Level): LoginCase => [
  ...([`in ${role}`, { memberOf: [of, role] }, want] as const),
];
const RIGHTS: readonly LoginCase[] = [
  ["with BYPASSRLS", { bypassesRls: true }, "warn"],
  ["with CREATEROLE", { createsRoles: true }, "warn"],
  ["without a role", { memberOf: [] }, "fail"],
];
const NO_LIMITS = { connectionLimit: -1, tempFileLimitKb: -1 };
const [ONE, OLD] = [makeSecretUse("new"), makeSecretUse("old")];

const CASES: readonly Case[] = [
  ["an unpatched driver", [evaluateDriver(false)], "warn"],
  ["PostgreSQL 14", [evaluateVersion({ ...WELL, version: 14 })], "fail"],
  ...ofLogins(
    (name) => `a serving login ${name}`,
    (login) => evaluateServingLogin({ ...SERVING, ...login }),
    [
      ["with minimum rights", {}, "ok"],
      ["of a superuser", { isSuperuser: true }, "warn"],
      ...RIGHTS,
      ...["rowhouse_owner", "rowhouse_tables", "rowhouse_tenant", "rowhouse_console"].map((role) =>
        inRole(role, "rowhouse_data", "warn"),
      ),
      ["without a time limit", { statementTimeoutMs: 0 }, "ok", "warn"],
    ],
  ),
  ...ofLogins(
    (name) => `a pushing login ${name}`,
    (login) => [evaluatePushingLogin({ ...PUSHING, ...login }, "ADMIN_DATABASE_URL", fail)],
    [
      ["with minimum rights", {}, "ok"],
      ["of a superuser", { isSuperuser: true, memberOf: [] }, "fail"],
      ...RIGHTS,
      inRole("rowhouse_owner", "rowhouse_tables", "fail"),
      ...["rowhouse_service", "rowhouse_data", "rowhouse_console"].map((role) =>
        inRole(role, "rowhouse_tables", "warn"),
      ),
    ],
  ),
  ...ofLogins(
    (name) => `a login ${name}`,
    (login) => evaluateLoginLimits({ ...SERVING, ...login }),
    [
      ["with limits", {}],
      ["without a connection limit", { connectionLimit: -1 }, "warn"],
      ["without a limit of temporary files", { tempFileLimitKb: -1 }, "warn"],
      ["that pushes, without a limit of temporary files", { ...PUSHING, tempFileLimitKb: -1 }],
      ["of a superuser", { isSuperuser: true, ...NO_LIMITS }],
    ],
  ),
  ...ofLogins(
    (name) => `a login ${name} for the Console`,
    (login) => [evaluateConsoleLogin({ ...CONSOLE, ...login })],
    [
      ["with minimum rights", {}, "ok"],
      ["without rights", { memberOf: [] }, "fail"],
      ["of a superuser", { isSuperuser: true }, "warn"],
      ["that serves", { memberOf: ["rowhouse_service", "rowhouse_console"] }, "warn"],
      ["in another role", { otherRoles: ["pg_read_all_data"] }, "warn"],
    ],
  ),
  ["temporary tables", [evaluateTemp({ ...WELL, publicTemp: true })], "warn"],
  ["a log of parameters", [evaluateParameterLog({ ...WELL, logsParameters: true })], "warn"],
  ["a log of failing statements", [evaluateFailureLog({ ...WELL, logsFailures: true })], "warn"],
  [
    "a shared secret for two services",
    [evaluateSecrets({ data: ["new", "one"], identity: ["one"] })],
    "warn",
  ],
  [
    "a separate secret for each service",
    [evaluateSecrets({ data: ["new", "one"], identity: ["other"] })],
    "ok",
  ],
  ["a clock with an hour's difference", [evaluateClock(WELL, 4_600_000)], "warn"],
  ["a synchronized clock", [evaluateClock(WELL, 1_000_500)], "ok"],
  ["an older identity secret in use", evaluateIdentitySecrets(["new", "old"], [ONE, OLD]), "warn"],
  ["an unused older identity secret", evaluateIdentitySecrets(["new", "old"], [ONE]), "ok"],
  ["an identity secret removed too early", evaluateIdentitySecrets(["new"], [ONE, OLD]), "warn"],
  ["a single identity secret", evaluateIdentitySecrets(["new"], [ONE]), "ok"],
  ["no mail server", evaluateMails(MAILS)],
  ["sent emails", evaluateMails({ ...MAILS, hasSender: true }), "ok"],
  ["unsent emails", evaluateMails({ ...MAILS, waiting: 1 }), "warn"],
  [
    "delayed and abandoned emails",
    evaluateMails({ hasSender: true, waiting: 2, oldestS: 601, givenUp: 1 }),
    ...(["warn", "warn"] as const),
  ],
  ["a missing migration", [evaluateMigrations({ ...CURRENT, missing: [3] })], "fail"],
  ["a build before the first release", [evaluateMigrations({ ...CURRENT, edited: [1] })], "fail"],
];

test.each(CASES.map(([name, ...rest]) => ({ name, rest })))(
  "the checks report the expected level for $name",
  ({ rest: [findings, ...want] }) => {
    expect(findings.map(({ level }) => level)).toEqual(want);
    for (const { level, remedy } of findings) expect(remedy === undefined).toBe(level === "ok");
  },
);

const project = await share(makeProject());
const database = await share(makeDatabase());
const other = await share(makeDatabase());

/** Settings of a service without a separate login for identity. */
const envOf = (of: TestDatabase): Settings => ({
  DATABASE_URL: of.servingUrl,
  ADMIN_DATABASE_URL: of.pushUrl,
  DATABASE_PREPARE: of.prepare ? "on" : "off",
  IDENTITY_SECRET: TEST_IDENTITY_SECRET,
});
const SERVED: Settings = { ...envOf(database), CONSOLE_DATABASE_URL: database.consoleUrl };

const doctor = (env: Settings, ...flags: string[]): Promise<Outcome> =>
  runHere(["doctor", ...flags], { ...project, env });
/** Runs with every login of a service, and this one for DATABASE_URL. */
const run = (url: string, ...flags: string[]): Promise<Outcome> =>
  doctor(
    { ...SERVED, DATABASE_URL: url, IDENTITY_DATABASE_URL: database.roleUrls.identity },
    ...flags,
  );
const findingsOf = ({ out }: Outcome) => (JSON.parse(out) as { findings: Finding[] }).findings;
type Finding = { about: string; level: string; message: string; remedy?: string };
/** Runs as an administrator of a database. */
const alter = (url: string, text: string) =>
  withDatabase(url, (admin) => admin.message(`${text}; select 1`));

describe("rowhouse doctor", () => {
  test("reports no issue for a healthy service", async () => {
    const outcome = await run(database.apartUrl, "--json");
    const findings = findingsOf(outcome);
    expect([outcome.code, outcome.err]).toEqual([0, ""]);
    expect(findings.filter(({ level }) => level !== "ok")).toEqual([]);
    expect(findings.map(({ about }) => about)).toEqual([
      ...["rowhouse", "settings", "driver", "database", "version", "login", "identity login"],
      ...["temporary tables", "every login", "parameters", "failures", "clock", "pooler"],
      ...["admin database", "pushing login", "migrations", "processes", "previews", "functions"],
      ...["sizes of apps", "isolation", "identity secret", "console login"],
    ]);
  });

  test.each<{ name: string; flags: string[]; more: Record<string, string> }>([
    { name: "--operator", flags: ["--operator"], more: {} },
    {
      name: "ROWS_DATABASE_URL, with which no process serves",
      flags: [],
      more: { ROWS_DATABASE_URL: "postgres://rows:secret-word@127.0.0.1:1/rowhouse" },
    },
  ])("accepts an administrator in the settings of operators: $name", async ({ flags, more }) => {
    const env = { ...SERVED, ADMIN_DATABASE_URL: database.adminUrl, ...more };
    const { code, out } = await doctor(env, ...flags);
    expect(out).toMatch(/^ok +pushing login: is an administrator, for operators' commands$/m);
    expect(out).not.toContain("can use all connections");
    expect(code).toBe(0);
  });

  test("warns if identity shares a login, and if the other login has the same rights", async () => {
    expect((await doctor(SERVED)).out).toContain("warn identity login: is not set");
    const shared = await run(database.servingUrl);
    expect(shared.out).toContain(`${LOGIN} of DATABASE_URL is a member of rowhouse_service`);
  });

  test.each([
    {
      name: "a login without the right to act",
      to: { username: toLogin("gateway") },
      expected: `${toLogin("gateway")} lacks the rights of the Console\n     run rowhouse migrate with this CONSOLE_DATABASE_URL\n`,
    },
    {
      name: "a wrong password",
      to: { password: "secret-word" },
      expected: `cannot connect: the database rejects the login's password (28P01)\n     correct the password in CONSOLE_DATABASE_URL; ${ESCAPES}\n`,
    },
    {
      name: "another database",
      to: () => ({ pathname: `/${other.name}` }),
      expected:
        "CONSOLE_DATABASE_URL and the service use different databases\n     correct it: otherwise ",
    },
  ])("reports a Console with $name", async ({ to, expected }) => {
    const part = typeof to === "function" ? to() : to;
    const { code, out } = await doctor({
      ...SERVED,
      CONSOLE_DATABASE_URL: Object.assign(new URL(database.consoleUrl), part).href,
    });
    expect(code).toBe(1);
    expect(out).toContain(`FAIL console login: ${expected}`);
    expect(out).not.toContain("secret-word");
  });

  const withPart = (part: Partial<URL>) =>
    Object.assign<URL, object>(new URL(database.pushUrl), part).href;
  /** With these, `serve` starts too, and warns: one login of each kind, since it asks the same function as the doctor. */
  const SERVED_WITH = ["an administrator", "a login without rights", "a wrong password"];
  const RIGHTS_REMEDY =
    "set ADMIN_DATABASE_URL to a login with these rights: grant rowhouse_tables to a role with only LOGIN";
  test.each([
    {
      name: "an administrator",
      url: () => database.superuserUrl,
      expected: /^FAIL pushing login: .* is a superuser: more than pushing needs$/m,
    },
    {
      name: "no separate login",
      url: () => "",
      expected: `FAIL pushing login: ADMIN_DATABASE_URL is not set, and ${LOGIN} of DATABASE_URL lacks the rights to push\n     ${RIGHTS_REMEDY}\n`,
    },
    {
      name: "a login without rights",
      url: () => withPart({ username: LOGIN }),
      expected: `FAIL pushing login: ${LOGIN} of ADMIN_DATABASE_URL lacks the rights to push\n     ${RIGHTS_REMEDY}\n`,
    },
    {
      name: "a wrong password",
      url: () => withPart({ password: "secret-word" }),
      expected: `FAIL admin database: rejects the login's password (28P01)\n     correct the password in ADMIN_DATABASE_URL; ${ESCAPES}\n`,
    },
    {
      name: "an unreachable server",
      url: () => withPart({ port: "1" }),
      expected:
        "FAIL admin database: does not respond (ECONNREFUSED)\n     start it, or correct ADMIN_DATABASE_URL\n",
    },
    {
      name: "another database",
      url: () => withPart({ pathname: `/${other.name}` }),
      expected:
        "FAIL pushing login: ADMIN_DATABASE_URL and DATABASE_URL are different databases\n     correct one of the variables: otherwise pushed tables are never served\n",
    },
  ])("reports $name for pushes", async ({ name, url, expected }) => {
    const env = { ...envOf(database), ADMIN_DATABASE_URL: url(), HOST: "127.0.0.1", PORT: "0" };
    const { code, out } = await doctor(env);
    expect(code).toBe(1);
    if (typeof expected === "string") expect(out).toContain(expected);
    else expect(out).toMatch(expected);
    expect(out).not.toContain("secret-word");
    if (!SERVED_WITH.includes(name)) return;
    const serving = startCommand(["serve"], { ...project, env });
    await serving.until(/"event":"listening"/);
    await serving.kill("SIGTERM");
    const event = typeof expected === "string" ? "login cannot push" : "login with too many rights";
    expect(serving.output()).toMatch(
      new RegExp(`"level":"warn","event":"${event}","message":"The pushing login`),
    );
    expect(serving.output()).not.toContain("secret-word");
  });

  test.each([
    { role: "gateway", more: GATEWAY, hasPushLogin: false },
    { role: "identity", more: { IDENTITY_SECRET: TEST_IDENTITY_SECRET }, hasPushLogin: false },
    { role: "data", more: {}, hasPushLogin: true },
  ] as const)("checks a $role with only its login", async ({ role, more, hasPushLogin }) => {
    const { code, out, err } = await doctor({
      DATABASE_URL: database.roleUrls[role],
      DATABASE_PREPARE: database.prepare ? "on" : "off",
      ROLE: role,
      INTERNAL_HMAC_SECRET: "s".repeat(32),
      ...(hasPushLogin ? { ADMIN_DATABASE_URL: database.pushUrl } : {}),
      ...more,
    });
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("ok   isolation: ");
    for (const about of ["pushing login", "functions"])
      expect(out.includes(` ${about}: `)).toBe(hasPushLogin);
  });

  test("checks the data that the pushing login can read if DATABASE_URL is unusable", async () => {
    const { code, out, err } = await run("mysql://login:secret-word@127.0.0.1/rowhouse");
    expect([code, err]).toEqual([1, ""]);
    expect(out).toContain("FAIL settings: DATABASE_URL must be ");
    expect(out).toContain("ok   isolation: ");
    expect(out).not.toContain("secret-word");
  });

  test("reports a login without rights and a database without tables, and the other checks run", async () => {
    const login = `rowhouse_ungranted_${crypto.randomUUID().slice(0, 8)}`;
    await alter(database.superuserUrl, `create role ${login} login password 'secret-word'`);
    // A pooler knows only the logins of the tests.
    const ungranted = new URL(database.adminUrl);
    ungranted.username = login;
    ungranted.password = "secret-word";
    try {
      const first = await doctor({ ...envOf(database), DATABASE_URL: ungranted.href });
      expect([first.code, first.err]).toEqual([1, ""]);
      expect(first.out).toContain("has no right to read what this check needs (42501)\n");
      expect(first.out).toContain("run rowhouse migrate with this DATABASE_URL");
      expect(first.out).toContain("ok   isolation: ");
      const empty = await doctor({
        ...envOf(database),
        DATABASE_URL: withPart({ pathname: "/postgres" }),
      });
      expect([empty.code, empty.err]).toEqual([1, ""]);
      expect(empty.out).toMatch(
        /FAIL .*\n {5}run rowhouse migrate, and check that DATABASE_URL names/,
      );
      expect(empty.out).toContain("ok   isolation: ");
      expect(first.out + empty.out).not.toContain("secret-word");
    } finally {
      await alter(database.superuserUrl, `drop role ${login}`);
    }
  });

  test("checks the pushing login, the Console and outward servers if DATABASE_URL does not respond", async () => {
    const mail = await openMailServer();
    const nowhere = Object.assign(new URL(database.servingUrl), { port: "1" }).href;
    const { code, out, err } = await doctor({
      ...SERVED,
      DATABASE_URL: nowhere,
      IDENTITY_DATABASE_URL: database.roleUrls.identity,
      MAIL_URL: mail.url,
      MAIL_FROM: "no-reply@example.org",
      IDENTITY_URL: "https://id.example.org",
      COOKIE_DOMAIN: "example.org",
    });
    await mail.close();
    expect([code, err]).toEqual([1, ""]);
    const lines = out.split("\n");
    expect(lines.filter((line) => line.startsWith("FAIL"))).toEqual([
      "FAIL database: does not respond (ECONNREFUSED)",
    ]);
    for (const about of [
      ...["settings", "driver", "admin database", "pushing login", "migrations", "functions"],
      ...["isolation", "identity secret", "console login", "mail server"],
    ])
      expect(lines.filter((line) => line.startsWith(`ok   ${about}: `))).toHaveLength(1);
  });

  /** Functions that one check calls, with a login that must be able to. */
  test.each([
    { about: "identity secret", used: "count_identity_values()" },
    { about: "cookie domain", used: "count_users()" },
    { about: "mail", used: "mail_state()" },
    { about: "roles of providers", used: "count_claimed_roles()" },
  ])("continues after $about without a right", async ({ about, used }) => {
    await using own = await makeDatabase();
    await alter(
      own.adminUrl,
      `revoke execute on function rowhouse.${used} from public, rowhouse_service, rowhouse_identity`,
    );
    const { code, out, err } = await doctor(
      { ...envOf(own), CONSOLE_DATABASE_URL: own.consoleUrl },
      "--json",
    );
    const { findings } = JSON.parse(out) as { findings: Finding[] };
    expect([code, err]).toEqual([1, ""]);
    const failed = findings.filter(({ level }) => level === "fail");
    expect(failed.map((result) => result.about)).toContain(about);
    for (const { message } of failed) expect(message).toContain("has no right to read");
    expect(findings.at(-1)).toMatchObject({ about: "console login", level: "ok" });
  });

  test.each(CHECKS.map(({ about }) => about))("continues after an error in %s", async (about) => {
    const later: string[] = [];
    const checks = CHECKS.map((check) => ({
      ...check,
      needs: [],
      run: () => {
        if (check.about === about) throw new Error("secret-word");
        later.push(check.about);
        return [];
      },
    }));
    const results = await runChecks(
      {
        ...{ settingIssues: [], trustedProxies: [], providers: [], adminVariable: "DATABASE_URL" },
        ...{ prepare: true, isWhole: true, pushes: true, isOperator: false, now: Date.now },
      },
      checks,
    );
    expect(later).toEqual(CHECKS.map((check) => check.about).filter((name) => name !== about));
    expect(results).toEqual([expect.objectContaining({ about, level: "fail" })]);
    expect(JSON.stringify(results)).not.toContain("secret-word");
  });

  test("warns of a login with too many rights, and never prints a password", async () => {
    const { code, out } = await run(database.superuserUrl);
    expect(code).toBe(0);
    expect(out).toContain("warn login: ");
    expect(out).not.toContain(new URL(database.superuserUrl).password);
  });

  describe("for a service with accounts", () => {
    beforeAll(() =>
      alter(
        database.adminUrl,
        `insert into rowhouse.users (id, email, password_hash, password_digest, password_secret_id)
          values (gen_random_uuid(), 'ada@example.org', 'x', 'x', '0a1b2c3d')`,
      ),
    );
    afterAll(() => alter(database.adminUrl, "delete from rowhouse.users"));
    const env = envOf(database);

    test("counts uses of an older identity secret, and never prints the secret", async () => {
      const { code, out } = await doctor({ ...env, COOKIE_DOMAIN: "example.org" });
      expect(code).toBe(0);
      expect(out).toContain(
        "warn identity secret: 0a1b2c3d is not in IDENTITY_SECRET, and 1 password ",
      );
      expect(out).not.toContain(TEST_IDENTITY_SECRET);
    });

    test("checks the providers and the mail server", async () => {
      await using provider = await startProvider({ name: "corp", label: "the Corporation" });
      const mail = await openMailServer();
      const settings = {
        ...env,
        COOKIE_DOMAIN: "example.org",
        OIDC_CORP_ISSUER: provider.settings.issuer,
        OIDC_CORP_CLIENT_ID: "rowhouse",
        OIDC_CORP_CLIENT_SECRET: "not to be shown",
        OIDC_CORP_LABEL: "the Corporation",
        MAIL_URL: mail.url,
        MAIL_FROM: "no-reply@example.org",
        IDENTITY_URL: "https://id.example.org",
      };
      provider.register("http://id.example.org/oidc/corp/callback");
      const { out } = await doctor(settings);
      expect(out).toContain(
        `ok   sign-in with the Corporation: ${provider.settings.issuer} responds\n`,
      );
      expect(out).toContain(
        "ok   mail server: accepts the greeting id.example.org and the login\n",
      );
      provider.wrong = { metadata: { issuer: "https://elsewhere.example.org" } };
      await mail.close();
      const later = await doctor(settings);
      expect(later.out).toContain(
        `warn sign-in with the Corporation: ${provider.settings.issuer} does not respond `,
      );
      expect(later.out).toContain("warn mail server: does not respond: E");
      expect(out + later.out).not.toContain("not to be shown");
    });

    test.each([
      { pages: "https://id.example.org", from: "a@example.net", name: "id.example.org" },
      { pages: "http://localhost:8080", from: "a@example.net", name: "example.net" },
      { pages: "http://id.rowhouse.localhost:8080", from: "a@example.net", name: "example.net" },
      { pages: "http://app_identity_1.internal", from: "a@example.net", name: "example.net" },
      { pages: "http://10.0.0.7", from: "A <a@example.net>", name: "example.net" },
    ])("names its greeting of the mail server: $name of $pages", async ({ pages, from, name }) => {
      const mails = { MAIL_FROM: from, IDENTITY_URL: pages, COOKIE_DOMAIN: "example.org" };
      // Each doctor costs the checks of everything else: one rejection is enough.
      for (const isAccepted of pages === "https://id.example.org" ? [true, false] : [true]) {
        const mail = openGreetedServer((greeting) => isAccepted && greeting === name);
        const { out } = await doctor({ ...env, ...mails, MAIL_URL: mail.url });
        mail.stop();
        expect(new Set(mail.greetings)).toEqual(new Set([name]));
        expect(out).toContain(
          isAccepted
            ? `ok   mail server: accepts the greeting ${name} and the login\n`
            : `warn mail server: rejects the greeting EHLO ${name}: E`,
        );
      }
    });

    test("fails without COOKIE_DOMAIN, and serve does not start", async () => {
      const message =
        "COOKIE_DOMAIN is not set, and 1 person has an account: sign-ins would not reach any app";
      const remedy = "set COOKIE_DOMAIN to the parent domain of all apps, such as example.org";
      const found = await doctor(env);
      expect(found.code).toBe(1);
      expect(found.out).toContain(`FAIL cookies: ${message}\n     ${remedy}\n`);
      const serve = await runHere(["serve"], { ...project, env: { ...env, PORT: "0" } });
      expect(serve).toEqual({
        code: 1,
        out: "",
        err: `Cannot serve this database\n  cookies: ${message}; ${remedy}\n`,
      });
    });
  });

  test("warns if the processes can open more connections than the server allows", async () => {
    const { code, out } = await doctor({
      DATABASE_URL: database.adminUrl,
      ADMIN_DATABASE_URL: database.pushUrl,
      DATABASE_POOL: "500",
      WORKERS: "2",
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    });
    expect(code).toBe(0);
    expect(out).toMatch(
      /^warn connections: this service can open 1008, .*\n {5}.*max_connections$/m,
    );
  });

  test("warns about rights of every login over others, and about logins without limits", async () => {
    await alter(
      other.adminUrl,
      `grant execute on function pg_advisory_lock(int8), lo_create(oid) to public;
        alter role ${LOGIN} in database ${other.name} reset temp_file_limit`,
    );
    const { code, out } = await doctor({ ...envOf(other) });
    expect(code).toBe(0);
    expect(out).toContain("advisory locks");
    expect(out).toContain(`warn temporary files: of ${LOGIN} can fill the disk\n`);
  });

  test("warns about trusting every address as a proxy", async () => {
    const { out } = await doctor({
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
      TRUSTED_PROXIES: "0.0.0.0/1,128.0.0.0/1",
    });
    expect(
      out,
    ).toContain(`warn trusted proxies: include every address: callers can claim any address in X-Forwarded-For, and so bypass the limits on failed sign-ins and keys
     set TRUSTED_PROXIES to the addresses or networks of your own proxies, such as 10.0.0.0/8
`);
  });

  test("fails if the isolation is broken, and reports the location", async () => {
    await alter(database.adminUrl, "create table data.stray ()");
    const { code, out } = await run(database.servingUrl);
    await alter(database.adminUrl, "drop table data.stray");
    expect(code).toBe(1);
    expect(out).toContain("data.stray must have row security");
  });

  test("warns while rowhouse migrate has not finished", async () => {
    await withDatabase(database.adminUrl, (admin) => recordRelease(admin, null));
    const { out } = await run(database.servingUrl);
    await withDatabase(database.adminUrl, (admin) => recordRelease(admin, digestRelease()));
    expect(out).toContain("warn release: rowhouse migrate has not finished");
  });

  test("does not mistake a slow response for a wrong clock", async () => {
    const proxy = await openPostgresProxy();
    let asking: number | undefined;
    let isSlow = false;
    proxy.onMessage(({ connection, from, type, statement = "" }) => {
      if (statement.includes("'epochMs'")) asking = connection;
      if (isSlow || from !== "server" || connection !== asking || type !== "D") return undefined;
      isSlow = true;
      return { delayMs: 1500 };
    });
    const { code, out } = await run(proxy.toUrl(database.servingUrl));
    await proxy.close();
    expect([code, isSlow]).toEqual([0, true]);
    expect(out).toContain("ok   clock: ");
  });

  test("warns of a server that logs the values of parameters", async () => {
    const login = new URL(database.servingUrl).username;
    // A pooler's connections keep their initial settings. It could hand an ending one to the next client.
    const set = (value: string) =>
      withDatabase(database.superuserUrl, (admin) =>
        admin.message(
          `do $$ begin execute format('alter role ${login} in database %I ${value}', current_database()); end $$; select count(pg_terminate_backend(pid, 20000)) from pg_stat_activity where usename = '${login}' and datname = current_database()`,
        ),
      );
    await set("set log_min_duration_statement = 250");
    const { code, out } = await run(database.servingUrl);
    await set("reset log_min_duration_statement");
    expect(code).toBe(0);
    expect(out).toContain("warn parameters: ");
    expect(out).toContain("log_parameter_max_length = 0");
  });

  test.each([
    { name: "a shared secret", more: {}, expected: "warn secrets: are the same" },
    {
      name: "a separate secret for each service",
      more: { INTERNAL_HMAC_SECRET_IDENTITY: "i".repeat(32) },
      expected: "ok   secrets: of data and identity differ",
    },
  ])("reports a gateway with $name, and never prints the secret", async ({ more, expected }) => {
    const env = { ...GATEWAY, ...more };
    const { out } = await doctor(env);
    expect(out).toContain(expected);
    expect(out).not.toMatch(/s{32}|i{32}/);
  });

  test.each([
    {
      name: "a setting that the doctor does not need",
      settings: { PORT: "secret-word", WORKERS: "-1" },
      issues: ["PORT must be", "WORKERS must be"],
      otherChecks: [
        "driver",
        "database",
        "login",
        "clock",
        "admin database",
        "migrations",
        "isolation",
      ],
    },
    {
      name: "a role without its required settings",
      settings: { ROLE: "data", IDENTITY_SECRET: "" },
      issues: ["INTERNAL_HMAC_SECRET must be set when ROLE is data"],
      otherChecks: ["driver", "database", "admin database", "isolation"],
    },
    {
      name: "no identity secret for a role with sign-ins",
      settings: { IDENTITY_SECRET: "" },
      issues: ["IDENTITY_SECRET is not set"],
      otherChecks: ["driver", "database", "admin database", "isolation"],
    },
    {
      name: "the serving connection string",
      settings: { DATABASE_URL: "secret-word" },
      issues: ["DATABASE_URL must be postgres://"],
      otherChecks: ["driver", "admin database", "migrations", "isolation"],
    },
    {
      name: "both connection strings",
      settings: { DATABASE_URL: "", ADMIN_DATABASE_URL: "secret-word" },
      issues: ["ADMIN_DATABASE_URL must be", "DATABASE_URL is not set"],
      otherChecks: ["driver"],
    },
  ])("lists invalid settings and continues: $name", async ({ settings, issues, otherChecks }) => {
    const { code, out, err } = await doctor({ ...envOf(database), ...settings }, "--json");
    const { findings } = JSON.parse(out) as { findings: Finding[] };
    expect([code, err]).toEqual([1, ""]);
    const failed = findings.filter(({ level }) => level === "fail");
    expect(failed.map(({ about }) => about)).toEqual(issues.map(() => "settings"));
    for (const [index, issue] of issues.entries())
      expect(failed[index]?.message).toStartWith(issue);
    expect(findings.map(({ about }) => about)).toEqual(expect.arrayContaining(otherChecks));
    expect(out).not.toContain("secret-word");
  });

  test("checks the database of a dev in this folder only without settings", async () => {
    const dev = {
      baseUrl: "http://localhost:1",
      gatewayUrl: "http://api.rowhouse.localhost:1",
      identityUrl: "http://id.rowhouse.localhost:1",
      app: "todo",
      apiKey: "",
      databaseUrl: database.adminUrl,
      identitySecrets: [TEST_IDENTITY_SECRET],
      admin: { email: "", password: "" },
      user: { email: "", password: "" },
    };
    using there = makeProject({ ".rowhouse/dev.json": JSON.stringify(dev) });
    chmodSync(join(there.folder, ".rowhouse/dev.json"), 0o600);
    const bare = await runHere(["doctor", "--json"], there);
    const set = await runHere(["doctor"], {
      ...there,
      env: { DATABASE_URL: "postgres://nobody:secret-word@127.0.0.1:1/nothing" },
    });
    const { findings } = JSON.parse(bare.out) as { findings: Finding[] };
    expect([bare.code, bare.err]).toEqual([
      0,
      expect.stringMatching(/^Notice: using .* because neither .*\n$/),
    ]);
    expect(findings.map(({ about, level }) => `${level} ${about}`)).toEqual([
      ...["ok rowhouse", "ok settings", "ok driver", "ok admin database", "ok migrations"],
      ...["ok processes", "ok previews", "ok functions", "ok sizes of apps", "ok isolation"],
      ...["ok identity secret"],
    ]);
    expect(set.code).toBe(1);
    expect(set.out).toContain("does not respond (ECONNREFUSED)");
  });

  test("reports remains of an older rowhouse dev in a service, and nothing in a database of dev", async () => {
    await using adopted = await makeDatabase();
    const write = (text: string) => alter(adopted.adminUrl, text);
    const ask = async (env: Record<string, string>) => {
      return findingsOf(await doctor(env, "--json"))
        .filter(({ about }) => about === "rowhouse dev")
        .map(({ level, message }) => `${level} ${message}`);
    };
    const serving = { DATABASE_URL: adopted.servingUrl, ADMIN_DATABASE_URL: adopted.pushUrl };
    const admin = { ADMIN_DATABASE_URL: adopted.adminUrl };
    await write(`insert into rowhouse.apps (id, slug) values (gen_random_uuid(), 'todo');
      insert into rowhouse.users (id, email, disabled_at) values
        (gen_random_uuid(), 'admin@rowhouse.localhost', null), (gen_random_uuid(), 'ada@localhost', null),
        (gen_random_uuid(), 'old@rowhouse.localhost', now()), (gen_random_uuid(), 'ada@localhost.example.org', null);
      insert into rowhouse.api_keys (key_id, app_id, name, digest, scopes, revoked_at)
        select repeat(digit, 16), id, name, sha256(digit::bytea), '{}', revoked_at
        from rowhouse.apps, (values ('a', 'rowhouse dev', null), ('b', 'rowhouse dev', now()), ('c', 'server', null))
          as keys (digit, name, revoked_at)`);
    const wanted = [
      expect.stringMatching(/^warn .*: ada@localhost, admin@rowhouse\.localhost; /),
      expect.stringMatching(/^warn .*: aaaaaaaaaaaaaaaa of todo; /),
    ];
    expect(await ask(serving)).toEqual(wanted);
    expect(await ask(admin)).toEqual(wanted);
    await write("create schema rowhouse_dev");
    expect(await ask(serving)).toEqual([]);
    expect(await ask(admin)).toEqual([]);
  });

  test("reports a database of a build before 0.1.0 with the next step, and runs no other check", async () => {
    await using other = await makeDatabase();
    await withDatabase(other.adminUrl, (admin) =>
      admin.message("update rowhouse.service_migrations set checksum = 'sha256:0'; select 1"),
    );
    const { code, out } = await doctor({
      DATABASE_URL: other.servingUrl,
      ADMIN_DATABASE_URL: other.adminUrl,
      DATABASE_PREPARE: other.prepare ? "on" : "off",
    });
    expect(code).toBe(1);
    expect(out.split("\n").slice(-3)).toEqual([
      expect.stringContaining("FAIL migrations: the database was set up by a build before 0.1.0"),
      expect.stringContaining("     set up a new database, "),
      "",
    ]);
  });

  test("reports a database without migrations, and an unavailable database", async () => {
    await using empty = await makeEmptyDatabase();
    const env = { DATABASE_URL: empty.url };
    const bare = await doctor(env);
    const unavailable = await doctor({
      DATABASE_URL: "postgres://nobody:secret-word@127.0.0.1:1/nothing",
    });
    expect([bare.code, unavailable.code]).toEqual([1, 1]);
    expect(bare.out).toContain("run rowhouse migrate");
    expect(unavailable.out).toContain("does not respond (ECONNREFUSED)");
    expect(unavailable.out + unavailable.err).not.toContain("secret-word");
  });

  test("distinguishes a rejected login or database from an unavailable server", async () => {
    const wrong = (change: (url: URL) => void) => {
      const url = new URL(database.adminUrl);
      change(url);
      return doctor({ ADMIN_DATABASE_URL: url.href });
    };
    const login = await wrong((url) => Object.assign(url, { password: "secret-word" }));
    const missing = await wrong((url) => Object.assign(url, { pathname: "/nowhere" }));
    expect([login.code, missing.code]).toEqual([1, 1]);
    expect(login.out).toContain("rejects the login's password (28P01)");
    expect(missing.out).toContain("(3D000)");
    expect(login.out + missing.out).not.toMatch(/does not respond|start it|secret-word/);
  });

  test("warns of a setting of an earlier release that is set, and not of an empty one", async () => {
    const findWarnings = async (text: string) => {
      const findings = findingsOf(await doctor({ KEEP_ALIVE: text }, "--json"));
      return findings.filter(({ about }) => about === "setting KEEP_ALIVE");
    };
    expect(await findWarnings("")).toEqual([]);
    expect(await findWarnings("130s")).toEqual([
      expect.objectContaining({
        level: "warn",
        message: "was removed, and has no effect: a silent connection stays open for 75 seconds",
        remedy: expect.stringContaining("remove the variable"),
      }),
    ]);
  });

  test("names each setting of which Bun dropped a part, because .env has an unescaped $", async () => {
    const lines = [
      "MAIL_URL=smtp://u:pa$word@127.0.0.1:1",
      'MAIL_FROM="no-reply@example.org" # $word',
      "IDENTITY_SECRET='aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa$1b$$word'",
      "OIDC_CORP_CLIENT_SECRET=se\\$cret",
      "export ORGANIZATION_NAME=$HOST$& $ME",
      "INTERNAL_HMAC_SECRET=a$word",
    ];
    const { folder, remove } = makeProject({
      ".env": lines.join("\n"),
      ".env.local": 'OIDC_CORP_CLIENT_ID="row\\$house"\nHOST=::1',
    });
    const env = { INTERNAL_HMAC_SECRET: "b".repeat(40) };
    const { out } = await runCommand(["doctor", "--json"], { folder, env });
    remove();
    const { findings } = JSON.parse(out) as { findings: CheckResult[] };
    const lost = findings.filter(({ message }) => message.includes("has lost a part"));
    expect(lost.map(({ message }) => message.split(" ")[0]).sort()).toEqual([
      "IDENTITY_SECRET",
      "MAIL_URL",
      "ORGANIZATION_NAME",
    ]);
    expect(JSON.stringify(lost)).not.toMatch(/word|aaaa/);
  });

  test("names the command that applies the driver's patch", () => {
    expect(evaluateDriver(false).remedy).toStartWith("run bun install");
  });
});
