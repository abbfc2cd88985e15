/** `<NAME>_FILE` for each secret of the tables of settings: its file has the value, and no error shows path or value. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeIgnored } from "../../src/cli/dev/environment.ts";
import { findServeIssues } from "../../src/cli/settings.ts";
import {
  PROVIDER_SETTINGS,
  readConfig,
  readSecretFiles,
  SETTINGS,
  toFileVariable,
} from "../../src/settings/mod.ts";
import { makeDatabase, type TestDatabase } from "../support/cluster.ts";
import { makeProject, runHere } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";

const TABLE: Readonly<Record<string, { about: string; isSecret?: true }>> = {
  ...SETTINGS,
  ...Object.fromEntries(
    Object.entries(PROVIDER_SETTINGS).map(([name, setting]) => [`OIDC_GOOGLE_${name}`, setting]),
  ),
};
const SECRETS = Object.entries(TABLE).flatMap(([name, { isSecret }]) => (isSecret ? [name] : []));

/** Makes a service with every secret. Only one of the tested settings is replaced. */
const VALUES: Readonly<Record<string, string>> = Object.fromEntries(
  SECRETS.map((name) => [
    name,
    /DATABASE_URL$/.test(name)
      ? `postgres://${name.toLowerCase()}:secret-word@127.0.0.1:5432/rowhouse`
      : name === "MAIL_URL"
        ? "smtp://user:secret-word@mail.example.org"
        : `secret-word-${name}${"x".repeat(32)}`,
  ]),
);
const OTHERS = {
  IDENTITY_URL: "https://id.example.org",
  PUBLIC_URL: "https://id.example.org",
  MAIL_FROM: "no-reply@example.org",
  OIDC_GOOGLE_ISSUER: "https://accounts.google.com",
  OIDC_GOOGLE_CLIENT_ID: "rowhouse",
};
const ALL = { ...OTHERS, ...VALUES };

let project: ReturnType<typeof makeProject>;
const path = (name: string) => join(project.folder, name);
beforeAll(() => {
  project = makeProject();
});
afterAll(() => project.remove());

test("the settings of these tests have no error", async () => {
  expect(await findServeIssues(ALL)).toEqual([]);
});

test("every setting with a password, a secret or a key is a secret", () => {
  const named = Object.keys(TABLE).filter((name) =>
    /SECRET$|SECRET_|PASSWORD|DATABASE_URL$|MAIL_URL$|KEY$|TOKEN/.test(name),
  );
  expect(
    named.filter((name) => !SECRETS.includes(name) && name !== "REQUIRE_SECOND_FACTOR"),
  ).toEqual([]);
  expect(SECRETS).toContain("OIDC_GOOGLE_CLIENT_SECRET");
});

describe.each([...SECRETS, "ROWHOUSE_API_KEY_STAGING"])("%s_FILE", (name) => {
  const file = toFileVariable(name);
  const value = VALUES[name] ?? "secret-word";
  const without = () => Object.fromEntries(Object.entries(ALL).filter(([other]) => other !== name));

  test.each(["", "\n", "\r\n"])("reads the value before %p", (end) => {
    writeFileSync(path("value"), `${value}${end}`);
    const env = { ...without(), [name]: "", [file]: path("value") };
    expect(readConfig(env)).toEqual(readConfig({ ...ALL, [name]: value }));
    expect(readSecretFiles(env)).toEqual({
      env: { ...without(), [name]: value },
      rejected: {},
      issues: [],
    });
  });

  test("removes one line break, and no other character", () => {
    writeFileSync(path("value"), " a \n\n");
    expect(readSecretFiles({ [file]: path("value") }).env).toEqual({ [name]: " a \n" });
  });

  test.each<{ fault: string; make: (to: string) => void; issue: string }>([
    {
      fault: "no file",
      make: () => undefined,
      issue: "must be the path of a file that exists and that this process can read",
    },
    {
      fault: "a folder",
      make: (to) => mkdirSync(to),
      issue: "must be the path of a file that exists and that this process can read",
    },
    {
      fault: "a pipe or device, which could block",
      make: (to) => symlinkSync("/dev/zero", to),
      issue: "must be the path of a file that exists and that this process can read",
    },
    {
      fault: "an empty file",
      make: (to) => writeFileSync(to, ""),
      issue: "must name a file that is not empty",
    },
    {
      fault: "a line break",
      make: (to) => writeFileSync(to, "\n"),
      issue: "must name a file that is not empty",
    },
    {
      fault: "a large file",
      make: (to) => writeFileSync(to, "secret-word".repeat(6_000)),
      issue: "must name a file of at most 64 KB",
    },
    {
      fault: "a NUL",
      make: (to) => writeFileSync(to, "secret-word\0"),
      issue: "must name a text file in UTF-8, without NUL characters",
    },
    {
      fault: "invalid UTF-8",
      make: (to) => writeFileSync(to, Buffer.from([0x61, 0xff])),
      issue: "must name a text file in UTF-8, without NUL characters",
    },
  ])("reports $fault as one error without the path", async ({ fault, make, issue }) => {
    const to = path(`${name} ${fault.replaceAll("/", " ")}`);
    make(to);
    const env = { ...without(), [file]: to };
    const read = readConfig(env);
    expect("issues" in read && read.issues).toEqual([`${file} ${issue}`]);
    expect(await findServeIssues(env)).toEqual([`${file} ${issue}`]);
  });

  test("excludes the variable itself", () => {
    const read = readConfig({ ...ALL, [name]: value, [file]: "secret-word" });
    expect("issues" in read && read.issues).toEqual([
      `${file} must not be set together with ${name}: remove one of them`,
    ]);
  });
});

test("rowhouse dev ignores the files of a service's secrets, too", () => {
  expect(describeIgnored({ DATABASE_URL_FILE: "/missing", ROWHOUSE_API_KEY_FILE: "" })).toContain(
    "ignores DATABASE_URL_FILE, which",
  );
});

describe("a command", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await makeDatabase();
  });
  afterAll(() => database.drop());

  test("uses the secrets of files, and lists every file that it cannot use", async () => {
    const secrets: Record<string, string> = {
      DATABASE_URL: database.apartUrl,
      ADMIN_DATABASE_URL: database.pushUrl,
      CONSOLE_DATABASE_URL: database.consoleUrl,
      IDENTITY_DATABASE_URL: database.roleUrls.identity,
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    };
    for (const [name, secret] of Object.entries(secrets)) writeFileSync(path(name), `${secret}\n`);
    const env = {
      DATABASE_PREPARE: database.prepare ? "on" : "off",
      ...Object.fromEntries(Object.keys(secrets).map((name) => [toFileVariable(name), path(name)])),
    };
    const { code, out } = await runHere(["doctor"], { ...project, env });
    expect(out).not.toMatch(/^(FAIL|warn)/m);
    expect(out).toContain("ok   identity secret");
    expect(code).toBe(0);
    const broken = { ...env, DATABASE_URL_FILE: "/missing", MAIL_URL_FILE: "/missing" };
    const rejected = await runHere(["serve"], { ...project, env: broken });
    const issue = "must be the path of a file that exists and that this process can read";
    expect(rejected).toEqual({
      code: 1,
      out: "",
      err: `Cannot start: invalid configuration\n  DATABASE_URL_FILE ${issue}\n  MAIL_URL_FILE ${issue}\n`,
    });
  });

  test("of a project reads the key of an environment from a file", async () => {
    project.write("rowhouse.json", JSON.stringify({ places: { staging: "http://127.0.0.1:1" } }));
    const run = (env: Record<string, string>) =>
      runHere(["db", "status", "--to", "staging"], { ...project, env });
    const missing = await run({ ROWHOUSE_API_KEY_STAGING_FILE: "/missing" });
    expect(missing.err).toContain("ROWHOUSE_API_KEY_STAGING_FILE must be the path");
    project.write("key", "rh_x.y\n");
    const reading = await run({ ROWHOUSE_API_KEY_STAGING_FILE: path("key") });
    expect(reading.err).toContain("http://127.0.0.1:1");
    project.write("rowhouse.json", JSON.stringify({ places: { "x-file": "http://127.0.0.1:1" } }));
    expect((await run({})).err).toContain("not ending with file");
  });
});
