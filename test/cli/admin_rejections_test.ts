/** Admin commands that are rejected: the reason on standard error, nothing on standard output, nothing changed. @module */
import { expect, test } from "bun:test";
import { APP_SWITCH_NAMES, toDashed } from "../../src/app_switch.ts";
import { SCOPES } from "../../src/principal.ts";
import { openAdmin } from "../support/admin.ts";
import { makeProject, runHere } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { readAdminSamples } from "../support/samples/commands.ts";
import { expectSentences } from "../support/sentences.ts";
import { share } from "../support/share.ts";

const UNKNOWN_KEY = "a".repeat(16);

const admin = await share(openAdmin());
await admin.service.makeApp(undefined, { slug: "wiki" });
await admin.json("create-user", "bo@example.org", "--role", "super_admin");
const before = await readAll();

/** Everything that an admin command could change. */
async function readAll(): Promise<string> {
  const tables = ["apps", "targets", "api_keys", "users", "password_links", "grants", "audit"];
  const rows = tables.map(
    (table) => `(select json_agg(one order by one::text) from rowhouse.${table} one)`,
  );
  const [row] = await admin.service.query<{ text: string }>(
    `select concat(${rows.join(", ")}) as text`,
  );
  return row?.text ?? "";
}

type Case = {
  words: readonly string[];
  /** The code of the error with `--json`; defaults to `invalid_request` for a valid command line. */
  error?: string;
  /** The paths of its details. */
  paths?: readonly string[];
  /** Values that the message must name. */
  names?: readonly string[];
};

/** Valid command lines whose action is rejected. */
const IMPOSSIBLE: readonly Case[] = [
  {
    words: ["move-app", "nobody", "--to", "10.0.0.3:5432"],
    paths: ["/database", "/slug"],
    names: ['"nobody"'],
  },
  { words: ["convert-to-citus", "--yes"], error: "rejected", names: ["create extension citus"] },
  { words: ["create-app", "Wiki"], names: ['"Wiki"', "2 to 40"] },
  { words: ["create-app", "a"], names: ['"a"', "2 to 40"] },
  { words: ["create-app", "wiki"], names: ['"wiki"'] },
  {
    words: ["create-app", "evil", "--origin", "https://evil.test"],
    names: ['"https://evil.test"', "example.org"],
  },
  {
    words: ["create-app", "http", "--origin", "http://a.example.org"],
    names: ['"http://a.example.org"', "https://"],
  },
  {
    words: ["create-app", "evil", "--origin", "https://evil.test", "--redirect", "nothing"],
    paths: ["/origins/0", "/redirects/0"],
    names: ['"https://evil.test"', '"nothing"'],
  },
  {
    words: ["set-origins", "wiki", "--add-origin", "https://*.example.org"],
    names: ['"https://*.example.org"'],
  },
  {
    words: ["set-origins", "wiki", "--origin", "https://a.example.org", "--remove-redirect", "x"],
    names: ['"x"', "wiki"],
  },
  ...APP_SWITCH_NAMES.map((name) => ({
    words: ["set-app", "wiki", toDashed(name), "off"],
    error: "rejected",
    names: ["off", "wiki"],
  })),
  {
    words: ["delete-app", "wiki"],
    error: "rejected",
    names: ["wiki", "1 key", "0 rows", "--yes", "rowhouse admin set-app wiki disabled on"],
  },
  { words: ["rename-app", "wiki", "Wiki"], names: ['"Wiki"'] },
  { words: ["create-user", "bo@example.org"], names: ["bo@example.org"] },
  { words: ["create-user", "not-an-address"], names: ['"not-an-address"'] },
  ...[
    ["set-role", "bo@example.org", "none"],
    ["disable", "bo@example.org"],
    ["delete-user", "bo@example.org", "--yes"],
  ].map((words) => ({ words, names: ["bo@example.org", "super_admin"] })),
  {
    words: ["grant", "bo@example.org", "wiki", "super_admin"],
    names: ['"super_admin"', "1 to 32"],
  },
  {
    words: ["invite", "bo", "nowhere", "No role", "--name", "a\u001b[31m"],
    paths: ["", "", "", ""],
    names: ['"bo"', '"nowhere"', '"No role"', "200"],
  },
  {
    words: ["create-user", "bo@example.org", "--name", "x".repeat(201)],
    paths: ["", ""],
    names: ["bo@example.org", "200"],
  },
  {
    words: ["create-user", "bo@example.org", "--name", "a\nb", "--role", "king"],
    paths: ["", "", ""],
    names: ["bo@example.org", "200", '"king"'],
  },
  {
    words: ["create-user", "not-an-address", "--role", "king"],
    paths: ["", ""],
    names: ['"not-an-address"', '"king"'],
  },
  { words: ["create-user", "cy@example.org", "--name", "a\nb"], names: ["200"] },
  {
    words: ["grant", "bo", "nowhere", "No role"],
    paths: ["", "", ""],
    names: ['"bo"', '"nowhere"', '"No role"'],
  },
  { words: ["grant", "bo", "wiki", "editor"], names: ['"bo"'] },
  { words: ["revoke", "--provider", "gone", "--yes"], error: "rejected", names: ['"gone"'] },
];

/** Invalid arguments. */
const MISUSED: readonly Case[] = [
  ...APP_SWITCH_NAMES.map((name) => ({
    words: ["set-app", "wiki", toDashed(name), "yes"],
    names: ['"yes"', "on", "off"],
  })),
  {
    words: ["set-app", "wiki", "lively", "on"],
    names: ['"lively"', ...APP_SWITCH_NAMES.map(toDashed)],
  },
  { words: ["issue-key", "wiki", "--scope", "data:all"], names: ['"data:all"', ...SCOPES] },
  ...["soon", "2030-02-31", "2030-01-01T00:00:00"].map((time) => ({
    words: ["issue-key", "wiki", "--expires", time],
    names: ["--expires", `"${time}"`, "90d"],
  })),
  { words: ["end-sessions"], names: ["--app"] },
  { words: ["issue-key", "wiki", "--expires", "2001-01-01"], names: ["--expires", "2001-01-01"] },
  ...["a\nb", "a\u001b[31m"].map((name) => ({
    words: ["issue-key", "wiki", "--name", name],
    names: ["--name", JSON.stringify(name), "1 to 100"],
  })),
  { words: ["convert-to-citus", "--shards", "0"], names: ["--shards 0", "1 to 64000"] },
  { words: ["roll-key", UNKNOWN_KEY, "--grace", "2h"], names: ["--grace", '"2h"', "24h"] },
  ...["roll-key", "revoke-key"].map((command) => ({
    words: [command, "rh_abc.secret"],
    names: ["16 characters"],
  })),
  { words: ["set-limit", "wiki", "--per-minute", "0"], names: ["0", "1 to 100000000"] },
  { words: ["set-role", "bo@example.org", "king"], names: ['"king"', "super_admin", "none"] },
  { words: ["create-user", "x@example.org", "--role", "king"], names: ['"king"', "super_admin"] },
  {
    words: ["revoke", "bo@example.org", "wiki", "--provider", "gone"],
    names: ['"bo@example.org"'],
  },
  { words: ["audit", "--limit", "0"], names: ["--limit 0", "1 to 10000"] },
  { words: ["list-users", "--limit", "0"], names: ["--limit 0", "1 to 10000"] },
  { words: ["set-origins", "wiki"], names: ["--add-origin", "--remove-redirect", "--origin"] },
  {
    words: ["set-origins", "wiki", "--origin", "https://a.example.org", "--add-origin", "x"],
    names: ["--origin", "--add-origin"],
  },
];

const SAMPLES = await readAdminSamples();
/** Arguments that name a record. */
const OF_RECORDS = ["slug", "app", "email", "key_id", "table"];
/** Commands on existing records. */
const ON_RECORDS = SAMPLES.filter(
  ({ name, positionals }) =>
    !name.startsWith("admin create-") &&
    positionals.some((argument) => OF_RECORDS.includes(argument)),
).map((sample) => ({
  ...sample,
  words: sample.words.map((word) => (word === "wiki" ? "no-such-app" : word)),
}));

test.each(ON_RECORDS)("$name names a missing record", async ({ words, positionals }) => {
  const [, ...argv] = words;
  const { code, out, err } = await admin.run(...argv);
  expect([code, out]).toEqual([1, ""]);
  const records = positionals.flatMap((argument, index) =>
    OF_RECORDS.includes(argument) ? [argv[index + 1] ?? ""] : [],
  );
  expect([err, records.some((record) => err.includes(record))]).toEqual([err, true]);
  expectSentences(err, {});
});

function show(words: readonly string[]): string {
  return words.map((word) => (/^[\w@.:/-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}

/** Checks the exit code, and the code and paths in the document of `--json`. Returns standard error. */
async function reject(
  run: typeof admin.run,
  words: readonly string[],
  wanted: { code: number; error: string; paths?: readonly string[] | undefined },
): Promise<string> {
  const { code, out, err } = await run(...words, "--json");
  const { error, details } = JSON.parse(out) as { error: string; details: { path: string }[] };
  const found = { paths: details.map(({ path }) => path), code, error };
  expect(found).toEqual({ ...wanted, paths: [...(wanted.paths ?? [])] });
  // A key that is passed instead of its id is not printed.
  expect(out).not.toContain("abc.secret");
  return err;
}

test.each(IMPOSSIBLE.map((one) => ({ ...one, line: show(one.words) })))(
  "admin $line is rejected",
  async ({ words, error = "invalid_request", paths, names }) => {
    const err = await reject(admin.run, words, { code: 1, error, paths: paths ?? [] });
    expectSentences(err, { names });
  },
);

/** Without a database: invalid arguments are rejected before a connection. */
async function runOffline(...argv: string[]) {
  using project = makeProject();
  const outcome = await runHere(["admin", ...argv], {
    ...project,
    env: {
      ADMIN_DATABASE_URL: "postgres://x:y@127.0.0.1:1/r",
      COOKIE_DOMAIN: "example.org",
      IDENTITY_URL: "https://id.example.org",
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    },
  });
  return outcome;
}

test.each(MISUSED.map((one) => ({ ...one, line: show(one.words) })))(
  "admin $line is a usage error",
  async ({ words, names }) => {
    // create-user reports an unknown role together with other errors, for which it needs the database.
    const run = words[0] === "create-user" ? admin.run : runOffline;
    const err = await reject(run, words, { code: 2, error: "usage" });
    expectSentences(err, { names, hides: ["abc.secret"] });
  },
);

test.each(SAMPLES)("$name rejects each flag without its value", async ({ words, flags }) => {
  for (const flag of flags) {
    const argv = [...words.slice(1), `--${flag}`, ""];
    const { code, out, err } = await runOffline(...argv);
    expect([code, out, err.includes(`--${flag} `)]).toEqual([2, "", true]);
  }
});

// A command that reads a file reads it first.
test.each(SAMPLES.filter(({ positionals: [first] }) => first !== "file"))(
  "$name exits with 69 while the database is unavailable",
  async ({ words }) => {
    const err = await reject(runOffline, words.slice(1), { code: 69, error: "unreachable" });
    expect(err).toContain("127.0.0.1:1");
  },
);

test("the rejected commands change nothing", async () => {
  expect(before).toContain("bo@example.org");
  expect(await readAll()).toBe(before);
});
