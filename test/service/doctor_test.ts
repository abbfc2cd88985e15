import { describe, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { MIGRATIONS } from "../../src/db/migrations/mod.ts";
import type { MigrationState } from "../../src/db/mod.ts";
import { type CheckResult, fail } from "../../src/service/check_result.ts";
import { CHECKS, runChecks } from "../../src/service/doctor/doctor.ts";
import { evaluateIdentitySecrets } from "../../src/service/doctor/identity_values.ts";
import { evaluateMails } from "../../src/service/doctor/mail_queue.ts";
import { evaluateMigrations } from "../../src/service/doctor/schema_state.ts";
import {
  evaluateClock,
  evaluateFailureLog,
  evaluateParameterLog,
  evaluateTemp,
  evaluateVersion,
  type Session,
} from "../../src/service/doctor/session.ts";
import { evaluateLoginLimits } from "../../src/service/logins/limits.ts";
import {
  evaluateConsoleLogin,
  evaluatePushingLogin,
  evaluateServingLogin,
  type Login,
} from "../../src/service/logins/rights.ts";
import { evaluateDriver, evaluateSecrets } from "../../src/service/settings_checks.ts";
import { cases, casesBy } from "../support/cases.ts";
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
import { expectSentences } from "../support/sentences.ts";
import { share } from "../support/share.ts";

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
/** With an account that the password of an older secret protects. */
const peopled = await share(makeDatabase());
await alter(
  peopled.adminUrl,
  `insert into rowhouse.users (id, email, password_hash, password_digest, password_secret_id)
    values (gen_random_uuid(), 'ada@example.org', 'x', 'x', '0a1b2c3d')`,
);
const mailServer = await share(openMailServer());

/** Settings of a service without a separate login for identity. */
const envOf = (of: TestDatabase): Settings => ({
  DATABASE_URL: of.servingUrl,
  ADMIN_DATABASE_URL: of.pushUrl,
  DATABASE_PREPARE: of.prepare ? "on" : "off",
  IDENTITY_SECRET: TEST_IDENTITY_SECRET,
});
const ENV = envOf(database);
const SERVED: Settings = { ...ENV, CONSOLE_DATABASE_URL: database.consoleUrl };
/** Settings of a service with every login, and this one for DATABASE_URL. */
const servedBy = (url: string): Settings => ({
  ...SERVED,
  DATABASE_URL: url,
  IDENTITY_DATABASE_URL: database.roleUrls.identity,
});
const MAILING = {
  MAIL_URL: mailServer.url,
  MAIL_FROM: "no-reply@example.org",
  IDENTITY_URL: "https://id.example.org",
  COOKIE_DOMAIN: "example.org",
};

const doctor = (env: Settings, ...flags: string[]): Promise<Outcome> =>
  runHere(["doctor", ...flags], { ...project, env });
const run = (url: string, ...flags: string[]) => doctor(servedBy(url), ...flags);
const findingsOf = ({ out }: Outcome) => (JSON.parse(out) as { findings: Finding[] }).findings;
type Finding = { about: string; level: string; message: string; remedy?: string };
/** Runs as an administrator of a database. */
async function alter(url: string, text: string): Promise<void> {
  await withDatabase(url, (admin) => admin.message(`${text}; select 1`));
}

const SECRETS = [
  ...["secret-word", "s".repeat(32), "i".repeat(32), TEST_IDENTITY_SECRET],
  new URL(database.superuserUrl).password,
];
const VARIES = {
  [`${MIGRATIONS.length} missing`]: "<all> missing",
  [other.name]: "<other>",
  [`: ${new URL(database.superuserUrl).username} is`]: ": <superuser> is",
};

/**
 * The doctor reports these findings, such as "warn login, ok mail", fails with just those that are "FAIL", and prints no secret. The
 * wording of issues is in the snapshot.
 */
async function expectFindings(env: Settings, findings: string): Promise<void> {
  const { code, out, err } = await doctor(env);
  const found = out.trimEnd().split(/\n(?! )/);
  const toName = (finding: string) => finding.replace(/:.*/s, "").replace(/ +/, " ");
  const wanted = findings.split(/,\s+/);
  const shown = found.filter(
    (finding) => finding.startsWith("FAIL") || wanted.includes(toName(finding)),
  );
  expect(new Set(shown.map(toName))).toEqual(new Set(wanted));
  expect([code, err]).toEqual([findings.includes("FAIL") ? 1 : 0, ""]);
  const issues = shown.filter((finding) => !finding.startsWith("ok"));
  expectSentences(issues.join("\n"), { varies: VARIES });
  expect(SECRETS.filter((secret) => out.includes(secret))).toEqual([]);
}

const withParts = (url: string, parts: Partial<URL>) => Object.assign(new URL(url), parts).href;
const toConsole = (parts: Partial<URL>): Settings => ({
  ...SERVED,
  CONSOLE_DATABASE_URL: withParts(database.consoleUrl, parts),
});
const pushing = (parts: Partial<URL>): Settings => ({
  ...ENV,
  ADMIN_DATABASE_URL: withParts(database.pushUrl, parts),
});
const WRONG = { password: "secret-word" };
const NOWHERE = "postgres://nobody:secret-word@127.0.0.1:1/nothing";

/** Settings, by the findings. */
const REPORTS = casesBy<Settings>({
  "warn identity login": {
    "the service's login for identity": SERVED,
    "a login of the same rights for identity": servedBy(database.servingUrl),
  },
  "FAIL console login": {
    "a Console's login without rights": toConsole({ username: toLogin("gateway") }),
    "a Console's wrong password": toConsole(WRONG),
    "a Console of another database": toConsole({ pathname: `/${other.name}` }),
  },
  "FAIL pushing login": {
    "an administrator for pushes": { ...ENV, ADMIN_DATABASE_URL: database.superuserUrl },
    "another database for pushes": pushing({ pathname: `/${other.name}` }),
  },
  "FAIL pushing login, FAIL upgrade, FAIL sizes of apps": {
    "no separate login for pushes": { ...ENV, ADMIN_DATABASE_URL: "" },
    "a login without rights for pushes": pushing({ username: LOGIN }),
  },
  "FAIL admin database": {
    "a wrong password for pushes": pushing(WRONG),
    "an unreachable server for pushes": pushing({ port: "1" }),
    "a missing database for pushes": pushing({ pathname: "/nowhere" }),
  },
  "FAIL pushing login, FAIL rowhouse dev, FAIL people, ok isolation": {
    "a database without tables": {
      ...ENV,
      DATABASE_URL: withParts(database.pushUrl, { pathname: "/postgres" }),
    },
  },
  [`FAIL database, ok settings, ok driver, ok admin database, ok pushing login, ok migrations,
    ok functions, ok isolation, ok identity secret, ok console login, ok mail server`]: {
    "a DATABASE_URL that does not respond": {
      ...servedBy(withParts(database.servingUrl, { port: "1" })),
      ...MAILING,
    },
  },
  "warn login": { "a login with too many rights": servedBy(database.superuserUrl) },
  "warn identity secret": { "a secret that accounts use": { ...envOf(peopled), ...MAILING } },
  "FAIL cookies": { "accounts without COOKIE_DOMAIN": envOf(peopled) },
  "FAIL settings, ok isolation": {
    "an unusable DATABASE_URL": servedBy("mysql://login:secret-word@127.0.0.1/rowhouse"),
  },
  "FAIL settings, warn trusted proxies": {
    "proxies of every address": { ...GATEWAY, TRUSTED_PROXIES: "0.0.0.0/1,128.0.0.0/1" },
  },
  "FAIL settings, warn secrets": { "a gateway with a shared secret": GATEWAY },
  "FAIL settings, ok secrets": {
    "a gateway with two secrets": { ...GATEWAY, INTERNAL_HMAC_SECRET_IDENTITY: "i".repeat(32) },
  },
  "FAIL settings, ok database, ok login, ok clock, ok migrations, ok isolation": {
    "settings that no check needs": { ...ENV, PORT: "secret-word", WORKERS: "-1" },
  },
  "FAIL settings, ok driver, ok database, ok admin database, ok isolation": {
    "a role without its settings": { ...ENV, ROLE: "data", IDENTITY_SECRET: "" },
    "no identity secret for sign-ins": { ...ENV, IDENTITY_SECRET: "" },
  },
  "FAIL settings, ok driver, ok admin database, ok migrations, ok isolation": {
    "an invalid DATABASE_URL": { ...ENV, DATABASE_URL: "secret-word" },
  },
  "FAIL settings, ok driver": {
    "no valid connection": { ...ENV, DATABASE_URL: "", ADMIN_DATABASE_URL: "secret-word" },
  },
});

test.each(REPORTS)("rowhouse doctor reports $name", async ({ value, expected }) => {
  await expectFindings(value, expected);
});

/** Changes of a database, by the findings. */
const CHANGES = casesBy({
  "FAIL isolation": { "a table that no push created": "create table data.stray ()" },
  "warn every login, warn temporary files": {
    "rights of every login, and a login without limits": `grant execute on function pg_advisory_lock(int8), lo_create(oid) to public;
      do $$ begin execute format('alter role ${LOGIN} in database %I reset temp_file_limit', current_database()); end $$`,
  },
  "warn release": { "an unfinished migrate": "update rowhouse.release set name = null" },
  "FAIL migrations": {
    "a build before 0.1.0": "update rowhouse.service_migrations set checksum = 'sha256:0'",
  },
  [`FAIL identity secret, FAIL cookie domain, FAIL mail, FAIL roles of providers, FAIL claims of providers,
    ok console login`]: {
    "missing rights on what checks call": `revoke execute on function rowhouse.count_identity_values(), rowhouse.count_users(),
      rowhouse.mail_state(), rowhouse.count_claimed_roles() from public, rowhouse_service, rowhouse_identity`,
  },
});

test.each(CHANGES)("rowhouse doctor reports $name", async ({ value, expected }) => {
  await using own = await makeDatabase();
  await alter(own.adminUrl, value);
  await expectFindings({ ...envOf(own), CONSOLE_DATABASE_URL: own.consoleUrl }, expected);
});

test("rowhouse doctor reports a database without migrations", async () => {
  await using empty = await makeEmptyDatabase();
  const env = { ...ENV, DATABASE_URL: empty.url, ADMIN_DATABASE_URL: empty.url };
  await expectFindings(env, "FAIL pushing login, FAIL migrations");
});

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

  test.each([
    ["--operator", {}],
    ["ROWS_DATABASE_URL", { ROWS_DATABASE_URL: NOWHERE }],
  ])("accepts an administrator in the settings of operators: %s", async (name, more) => {
    const flags = name.startsWith("--") ? [name] : [];
    const env = { ...SERVED, ADMIN_DATABASE_URL: database.adminUrl, ...more };
    const { code, out } = await doctor(env, ...flags);
    expect(out).toMatch(/^ok +pushing login: is an administrator, for operators' commands$/m);
    expect(out).not.toContain("can use all connections");
    expect(code).toBe(0);
  });

  /** One login of each kind, since `serve` asks the same function as the doctor. */
  test.each([
    ["an administrator", "login with too many rights"],
    ["a wrong password", "login cannot push"],
  ])("has the warning with which serve starts: %s for pushes", async (login, event) => {
    const found = REPORTS.find(({ name }) => name === `${login} for pushes`);
    const env = { ...found?.value, HOST: "127.0.0.1", PORT: "0" };
    const serving = startCommand(["serve"], { ...project, env });
    await serving.until(/"event":"listening"/);
    await serving.kill("SIGTERM");
    const says = `"level":"warn","event":"${event}","message":"The pushing login`;
    expect(serving.output()).toContain(says);
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

  test("reports a login without rights", async () => {
    const login = `rowhouse_ungranted_${crypto.randomUUID().slice(0, 8)}`;
    await alter(database.superuserUrl, `create role ${login} login password 'secret-word'`);
    try {
      // A pooler knows only the logins of the tests.
      const url = withParts(database.adminUrl, { username: login, ...WRONG });
      const { code, out, err } = await doctor({ ...ENV, DATABASE_URL: url });
      expect([code, err]).toEqual([1, ""]);
      expect(out).toContain("has no right to read what this check needs (42501)\n");
      expect(out).toContain("run rowhouse migrate with this DATABASE_URL");
      expect(out).toContain("ok   isolation: ");
      expect(out).not.toContain("secret-word");
    } finally {
      await alter(database.superuserUrl, `drop role ${login}`);
    }
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

  test("checks the providers and the mail server", async () => {
    await using provider = await startProvider({ name: "corp", label: "the Corporation" });
    const mail = await openMailServer();
    const { issuer } = provider.settings;
    const settings = {
      ...ENV,
      ...MAILING,
      OIDC_CORP_ISSUER: issuer,
      OIDC_CORP_CLIENT_ID: "rowhouse",
      OIDC_CORP_CLIENT_SECRET: "not to be shown",
      OIDC_CORP_LABEL: "the Corporation",
      MAIL_URL: mail.url,
    };
    provider.register("http://id.example.org/oidc/corp/callback");
    const { out } = await doctor(settings);
    expect(out).toContain(`ok   sign-in with the Corporation: ${issuer} responds\n`);
    expect(out).toContain("ok   mail server: accepts the greeting id.example.org and the login\n");
    provider.wrong = { metadata: { issuer: "https://elsewhere.example.org" } };
    await mail.close();
    const later = await doctor(settings);
    expect(later.out).toContain(`warn sign-in with the Corporation: ${issuer} does not respond `);
    expect(later.out).toContain("warn mail server: does not respond: E");
    expect(out + later.out).not.toContain("not to be shown");
  });

  test.each(cases("pages", "from", "name")`
    https://id.example.org            | a@example.net     | id.example.org
    http://localhost:8080             | a@example.net     | example.net
    http://id.rowhouse.localhost:8080 | a@example.net     | example.net
    http://app_identity_1.internal    | a@example.net     | example.net
    http://10.0.0.7                   | A <a@example.net> | example.net
  `)("names its greeting of the mail server: $name of $pages", async ({ pages, from, name }) => {
    const mails = { MAIL_FROM: from, IDENTITY_URL: pages, COOKIE_DOMAIN: "example.org" };
    // Each doctor costs the checks of everything else: one rejection is enough.
    for (const isAccepted of pages === "https://id.example.org" ? [true, false] : [true]) {
      const mail = openGreetedServer((greeting) => isAccepted && greeting === name);
      const { out } = await doctor({ ...ENV, ...mails, MAIL_URL: mail.url });
      mail.stop();
      expect(new Set(mail.greetings)).toEqual(new Set([name]));
      expect(out).toContain(
        isAccepted
          ? `ok   mail server: accepts the greeting ${name} and the login\n`
          : `warn mail server: rejects the greeting EHLO ${name}: E`,
      );
    }
  });

  test("has the failure with which serve does not start", async () => {
    const env = { ...envOf(peopled), PORT: "0" };
    const { code, out, err } = await runHere(["serve"], { ...project, env });
    expect([code, out]).toEqual([1, ""]);
    expectSentences(err, { names: ["cookies: COOKIE_DOMAIN"] });
  });

  test("warns if the processes can open more connections than the server allows", async () => {
    const { out } = await doctor({ ...ENV, DATABASE_POOL: "500", WORKERS: "2" });
    expect(out).toMatch(
      /^warn connections: this service can open 1008, .*\n {5}.*max_connections$/m,
    );
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
