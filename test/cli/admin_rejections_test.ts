/** Admin commands that are rejected: the reason on standard error, nothing on standard output, nothing changed. @module */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { APP_SWITCH_NAMES, toDashed } from "../../src/app_switch.ts";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { type Admin, openAdmin } from "../support/admin.ts";
import { makeProject, runHere } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { readAdminSamples } from "../support/samples/commands.ts";

const UNKNOWN_KEY = "a".repeat(16);

let admin: Admin;
let before: string;
beforeAll(async () => {
  admin = await openAdmin();
  await admin.service.makeApp(undefined, { slug: "wiki" });
  await admin.json("create-user", "bo@example.org", "--role", "super_admin");
  before = await readAll();
});
afterAll(() => admin.close());

/** Everything that an admin command could change. */
async function readAll(): Promise<string> {
  const tables = ["apps", "targets", "api_keys", "users", "password_links", "grants", "audit"];
  const rows = tables.map(
    (table) => `(select json_agg(one order by one::text) from rowhouse.${table} one)`,
  );
  const [row] = await admin.service.service.admin.query<{ text: string }>(
    `select concat(${rows.join(", ")}) as text`,
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return row?.text ?? "";
}

type Case = { words: readonly string[]; says: string };

/** Valid command lines whose action is rejected. */
const IMPOSSIBLE: readonly Case[] = [
  {
    words: ["move-app", "nobody", "--to", "10.0.0.3:5432"],
    says: '  /database: is not distributed over a Citus cluster (docs/scaling.md)\n  /slug: no app has the slug "nobody"\n',
  },
  {
    words: ["convert-to-citus", "--yes"],
    says: "Cannot distribute this database:\n  The extension citus is missing: run create extension citus in this database on every node",
  },
  { words: ["create-app", "Wiki"], says: 'Cannot name an app "Wiki"' },
  { words: ["create-app", "a"], says: "must be 2 to 40 lowercase letters" },
  { words: ["create-app", "wiki"], says: 'Cannot create app "wiki": it already exists\n' },
  {
    words: ["create-app", "evil", "--origin", "https://evil.test"],
    says: "must be a host under example.org",
  },
  {
    words: ["create-app", "http", "--origin", "http://a.example.org"],
    says: "must begin with https://",
  },
  {
    words: ["create-app", "evil", "--origin", "https://evil.test", "--redirect", "nothing"],
    says: `Cannot use 2 of these URLs
  /origins/0: Cannot use origin "https://evil.test": must be a host under example.org
  /redirects/0: Cannot use redirect "nothing": must be a URL`,
  },
  {
    words: ["set-origins", "wiki", "--add-origin", "https://*.example.org"],
    says: "wildcards are not supported",
  },
  {
    words: ["set-origins", "wiki", "--origin", "https://a.example.org", "--remove-redirect", "x"],
    says: 'Cannot remove redirect "x": wiki has not registered it',
  },
  ...APP_SWITCH_NAMES.map((name) => ({
    words: ["set-app", "wiki", toDashed(name), "off"],
    says: "is already off for app wiki",
  })),
  {
    words: ["set-app", "wiki", "live", "on"],
    says: "Cannot turn on live updates: set PREVIEW=live",
  },
  {
    words: ["delete-app", "wiki"],
    says: "Cannot ask for confirmation without a terminal: add --yes",
  },
  { words: ["rename-app", "wiki", "Wiki"], says: 'Cannot name an app "Wiki"' },
  { words: ["create-user", "bo@example.org"], says: "the address is already in use" },
  { words: ["create-user", "not-an-address"], says: "Cannot use the address" },
  { words: ["set-role", "bo@example.org", "none"], says: "last super_admin" },
  { words: ["disable", "bo@example.org"], says: "last super_admin" },
  { words: ["delete-user", "bo@example.org", "--yes"], says: "last super_admin" },
  { words: ["grant", "bo@example.org", "wiki", "super_admin"], says: "Cannot grant the role" },
  {
    words: ["invite", "bo", "nowhere", "No role", "--name", "a\u001b[31m"],
    says: 'Nothing was changed\n  Cannot use the address "bo": must look like ada@example.org\n  The name must have at most 200 visible characters on one line, without control characters\n  Cannot grant the role',
  },
  {
    words: ["create-user", "bo@example.org", "--name", "x".repeat(201)],
    says: "Nothing was changed\n  The name must have at most 200 visible characters on one line, without control characters\n  Cannot create the user bo@example.org: the address is already in use\n",
  },
  {
    words: ["create-user", "bo@example.org", "--name", "a\nb", "--role", "king"],
    says: 'Nothing was changed\n  The name must have at most 200 visible characters on one line, without control characters\n  Cannot create the user bo@example.org: the address is already in use\n  Unknown Console role "king": expected one of admin, super_admin\n',
  },
  {
    words: ["create-user", "not-an-address", "--role", "king"],
    says: 'must look like ada@example.org\n  Unknown Console role "king"',
  },
  {
    words: ["create-user", "cy@example.org", "--name", "a\nb"],
    says: "The name must have at most",
  },
  {
    words: ["grant", "bo", "nowhere", "No role"],
    says: 'Nothing was changed\n  Cannot use the address "bo": must look like ada@example.org\n  No app has the slug "nowhere": rowhouse admin list-apps lists all apps\n  Cannot grant the role',
  },
  { words: ["grant", "bo", "wiki", "editor"], says: 'Cannot use the address "bo"' },
  {
    words: ["revoke", "--provider", "gone", "--yes"],
    says: 'Nothing to revoke: no one has a role from claims of "gone"',
  },
];

/** Invalid arguments. */
const MISUSED: readonly Case[] = [
  ...APP_SWITCH_NAMES.map((name) => ({
    words: ["set-app", "wiki", toDashed(name), "yes"],
    says: 'Cannot read "yes": must be on or off',
  })),
  { words: ["set-app", "wiki", "lively", "on"], says: 'Unknown setting "lively": must be live, ' },
  { words: ["issue-key", "wiki", "--scope", "data:all"], says: 'Unknown scope "data:all"' },
  ...["soon", "2030-02-31", "2030-01-01T00:00:00"].map((time) => ({
    words: ["issue-key", "wiki", "--expires", time],
    says: "Cannot read --expires",
  })),
  { words: ["end-sessions"], says: "Name the app: --app <slug>" },
  { words: ["issue-key", "wiki", "--expires", "2001-01-01"], says: "must be in the future" },
  ...["a\nb", "a\u001b[31m"].map((name) => ({
    words: ["issue-key", "wiki", "--name", name],
    says: "control characters",
  })),
  { words: ["convert-to-citus", "--shards", "0"], says: "Cannot read --shards 0: must be" },
  { words: ["roll-key", UNKNOWN_KEY, "--grace", "2h"], says: "Cannot read --grace" },
  ...["roll-key", "revoke-key"].map((command) => ({
    words: [command, "rh_abc.secret"],
    says: "must be the 16 characters",
  })),
  {
    words: ["set-limit", "wiki", "--per-minute", "0"],
    says: "must be a whole number",
  },
  {
    words: ["set-role", "bo@example.org", "king"],
    says: "expected one of admin, super_admin, none",
  },
  {
    words: ["create-user", "x@example.org", "--role", "king"],
    says: "Unknown Console role",
  },
  {
    words: ["revoke", "bo@example.org", "wiki", "--provider", "gone"],
    says: 'Unexpected argument "bo@example.org"',
  },
  { words: ["audit", "--limit", "0"], says: "whole number" },
  { words: ["list-users", "--limit", "0"], says: "whole number" },
  { words: ["set-origins", "wiki"], says: "Nothing to change" },
  {
    words: ["set-origins", "wiki", "--origin", "https://a.example.org", "--add-origin", "x"],
    says: "it replaces the whole list",
  },
];

const SAMPLES = await readAdminSamples();
/** The message about a missing record, by the argument that names it. */
const MISSING: Readonly<Record<string, (typed: string) => string>> = {
  slug: (slug) => `No app has the slug "${slug}"`,
  app: (slug) => `No app has the slug "${slug}"`,
  email: (email) => `No user has the address "${email}"`,
  key_id: (id) => `"${id}"`,
  table: () => "Table not found",
};
/** Commands on existing records. */
const ON_RECORDS = SAMPLES.filter(
  ({ name, positionals }) =>
    !name.startsWith("admin create-") && positionals.some((argument) => argument in MISSING),
).map((sample) => ({
  ...sample,
  words: sample.words.map((word) => (word === "wiki" ? "no-such-app" : word)),
}));

test.each(ON_RECORDS)("$name names a missing record", async ({ words, positionals }) => {
  const [, ...argv] = words;
  const outcome = await admin.run(...argv);
  const named = positionals.filter((argument, index) => {
    const message = MISSING[argument]?.(argv[index + 1] ?? "");
    return message && outcome.err.toLowerCase().includes(message.toLowerCase());
  });
  expect([outcome.code, outcome.out, outcome.err, named.length > 0]).toEqual([
    1,
    "",
    expect.anything(),
    true,
  ]);
});

function show(words: readonly string[]): string {
  return words.map((word) => (/^[\w@.:/-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}

async function reject(run: typeof admin.run, { words, says }: Case, code: number): Promise<void> {
  const outcome = await run(...words);
  expect(outcome.err).toContain(says);
  expect([outcome.code, outcome.out]).toEqual([code, ""]);
  // A key that is passed instead of its id is not printed.
  expect(outcome.err).not.toContain("abc.secret");
}

test.each(IMPOSSIBLE.map((one) => ({ ...one, line: show(one.words) })))(
  "admin $line is rejected",
  (one) => reject(admin.run, one, 1),
);

/** Without a database: invalid arguments are rejected before a connection. */
async function runOffline(...argv: string[]) {
  const project = makeProject();
  const outcome = await runHere(["admin", ...argv], {
    ...project,
    env: {
      ADMIN_DATABASE_URL: "postgres://x:y@127.0.0.1:1/r",
      COOKIE_DOMAIN: "example.org",
      IDENTITY_URL: "https://id.example.org",
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    },
  });
  project.remove();
  return outcome;
}

test.each(MISUSED.map((one) => ({ ...one, line: show(one.words) })))(
  "admin $line is a usage error",
  // create-user reports an unknown role together with other errors, for which it needs the database.
  (one) => reject(one.words[0] === "create-user" ? admin.run : runOffline, one, 2),
);

test.each(SAMPLES)("$name rejects each flag without its value", async ({ words, flags }) => {
  for (const flag of flags) {
    const line = [...words.slice(1), `--${flag}`, ""];
    await reject(runOffline, { words: line, says: `Flag --${flag} needs a value` }, 2);
  }
});

// A command that reads a file reads it first.
test.each(SAMPLES.filter(({ positionals: [first] }) => first !== "file"))(
  "$name exits with 69 while the database is unavailable",
  ({ words }) =>
    reject(
      runOffline,
      { words: words.slice(1), says: "Cannot reach PostgreSQL at 127.0.0.1:1" },
      69,
    ),
);

test("the rejected commands change nothing", async () => {
  expect(before).toContain("bo@example.org");
  expect(await readAll()).toBe(before);
});
