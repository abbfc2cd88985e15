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
import { expectSentences } from "../support/sentences.ts";

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

/** The issues without their variable, by fault: the same for every secret. */
const SENTENCES = new Map<string, Set<string>>();

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

  test.each<{ fault: string; make: (to: string) => void }>([
    { fault: "no file", make: () => undefined },
    { fault: "a folder", make: (to) => mkdirSync(to) },
    { fault: "a pipe or device, which could block", make: (to) => symlinkSync("/dev/zero", to) },
    { fault: "an empty file", make: (to) => writeFileSync(to, "") },
    { fault: "a line break", make: (to) => writeFileSync(to, "\n") },
    { fault: "a large file", make: (to) => writeFileSync(to, "secret-word".repeat(6_000)) },
    { fault: "a NUL", make: (to) => writeFileSync(to, "secret-word\0") },
    { fault: "invalid UTF-8", make: (to) => writeFileSync(to, Buffer.from([0x61, 0xff])) },
  ])("reports $fault as one error without the path", async ({ fault, make }) => {
    const to = path(`${name} ${fault.replaceAll("/", " ")}`);
    make(to);
    const env = { ...without(), [file]: to };
    const read = readConfig(env);
    const issues = "issues" in read ? read.issues : [];
    expect(issues).toHaveLength(1);
    expect(await findServeIssues(env)).toEqual([...issues]);
    expect(issues[0]).toStartWith(`${file} must `);
    expect(issues[0]).not.toContain(to);
    const sentences = SENTENCES.get(fault) ?? new Set();
    SENTENCES.set(fault, sentences.add((issues[0] ?? "").slice(file.length + 1)));
  });

  test("excludes the variable itself", () => {
    const read = readConfig({ ...ALL, [name]: value, [file]: "secret-word" });
    const [issue = "", ...others] = "issues" in read ? read.issues : [];
    expect([issue.startsWith(`${file} `), issue.includes(name), others]).toEqual([true, true, []]);
    expect(issue).not.toContain("secret-word");
  });
});

test("each fault has one sentence", () => {
  expect(SENTENCES.size).toBe(8);
  const sentences = [...SENTENCES].map(([fault, texts]) => [fault, [...texts].join("\n")]);
  expect(Object.fromEntries(sentences)).toMatchSnapshot();
});

test("rowhouse dev ignores the files of a service's secrets, too", () => {
  const ignored = describeIgnored({ DATABASE_URL_FILE: "/missing", ROWHOUSE_API_KEY_FILE: "" });
  expectSentences(String(ignored), {
    names: ["DATABASE_URL_FILE"],
    hides: ["/missing", "ROWHOUSE_API_KEY_FILE"],
  });
});

test("rowhouse dev that ignores PREVIEW says how previews are turned on", () => {
  expect(describeIgnored({ PREVIEW: "filters", WORKERS: "2" })).toMatchSnapshot();
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
    expect([rejected.code, rejected.out]).toEqual([1, ""]);
    expectSentences(rejected.err, {
      names: ["\n  DATABASE_URL_FILE ", "\n  MAIL_URL_FILE "],
      hides: ["/missing"],
    });
  });

  test("of a project reads the key of an environment from a file", async () => {
    project.write(
      "rowhouse.json",
      JSON.stringify({ environments: { staging: "http://127.0.0.1:1" } }),
    );
    const run = (env: Record<string, string>) =>
      runHere(["db", "status", "--to", "staging"], { ...project, env });
    const missing = await run({ ROWHOUSE_API_KEY_STAGING_FILE: "/missing" });
    expectSentences(missing.err, { names: ["ROWHOUSE_API_KEY_STAGING_FILE"], hides: ["/missing"] });
    project.write("key", "rh_x.y\n");
    const reading = await run({ ROWHOUSE_API_KEY_STAGING_FILE: path("key") });
    expect(reading.err).toContain("http://127.0.0.1:1");
    project.write(
      "rowhouse.json",
      JSON.stringify({ environments: { "x-file": "http://127.0.0.1:1" } }),
    );
    expectSentences((await run({})).err, { names: ["rowhouse.json", "x-file"] });
  });
});
