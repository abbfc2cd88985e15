/** Admin commands that are rejected: the reason on standard error, nothing on standard output, nothing changed. @module */
import { expect, test } from "bun:test";
import { APP_SWITCH_NAMES, toDashed } from "../../src/app_switch.ts";
import { SCOPES } from "../../src/principal.ts";
import { openAdmin } from "../support/admin.ts";
import { cases } from "../support/cases.ts";
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

/**
 * Valid command lines whose action is rejected: values that the message names, the paths of the details, and the code with
 * `--json`, if it is not `invalid_request`.
 */
const IMPOSSIBLE = [
  ...cases("line", "names", "paths", "error")`
  move-app nobody --to 10.0.0.3:5432                                      | "nobody"                         | /database, /slug
  convert-to-citus --yes                                                  | create extension citus           |   | rejected
  create-app Wiki                                                         | "Wiki", 2 to 40
  create-app a                                                            | "a", 2 to 40
  create-app wiki                                                         | "wiki"
  create-app evil --origin https://evil.test                              | "https://evil.test", example.org
  create-app http --origin http://a.example.org                           | "http://a.example.org", https://
  create-app evil --origin https://evil.test --redirect nothing           | "https://evil.test", "nothing"   | /origins/0, /redirects/0
  set-origins wiki --add-origin "https://*.example.org"                   | "https://*.example.org"
  set-origins wiki --origin https://a.example.org --remove-redirect x     | "x", wiki
  delete-app wiki                                                         | wiki, 1 key, 0 rows, --yes, rowhouse admin set-app wiki disabled on |   | rejected
  rename-app wiki Wiki                                                    | "Wiki"
  create-user bo@example.org                                              | bo@example.org
  create-user not-an-address                                              | "not-an-address"
  set-role bo@example.org none                                            | bo@example.org, super_admin
  disable bo@example.org                                                  | bo@example.org, super_admin
  delete-user bo@example.org --yes                                        | bo@example.org, super_admin
  grant bo@example.org wiki super_admin                                   | "super_admin", 1 to 32
  invite bo nowhere "No role" --name "a\\u001b[31m"                       | "bo", "nowhere", "No role", 200  | ,,,
  create-user bo@example.org --name ${"x".repeat(201)}                    | bo@example.org, 200              | ,
  create-user bo@example.org --name "a\\nb" --role king                   | bo@example.org, 200, "king"      | ,,
  create-user not-an-address --role king                                  | "not-an-address", "king"         | ,
  create-user cy@example.org --name "a\\nb"                               | 200
  grant bo nowhere "No role"                                              | "bo", "nowhere", "No role"       | ,,
  grant bo wiki editor                                                    | "bo"
  revoke --provider gone --yes                                            | "gone"                           |   | rejected
  `,
  ...APP_SWITCH_NAMES.map((name) => ({
    ...{ line: `set-app wiki ${toDashed(name)} off`, names: "off, wiki" },
    ...{ paths: "", error: "rejected" },
  })),
];

/** Invalid arguments. */
const MISUSED = [
  ...cases("line", "names")`
  set-app wiki lively on                           | "lively", ${APP_SWITCH_NAMES.map(toDashed).join(", ")}
  issue-key wiki --scope data:all                  | "data:all", ${SCOPES.join(", ")}
  issue-key wiki --expires soon                    | --expires, "soon", 90d
  issue-key wiki --expires 2030-02-31              | --expires, "2030-02-31", 90d
  issue-key wiki --expires 2030-01-01T00:00:00     | --expires, "2030-01-01T00:00:00", 90d
  issue-key wiki --expires 2001-01-01              | --expires, 2001-01-01
  issue-key wiki --name "a\\nb"                    | --name, "a\\nb", 1 to 100
  issue-key wiki --name "a\\u001b[31m"             | --name, "a\\u001b[31m", 1 to 100
  end-sessions                                     | --app
  convert-to-citus --shards 0                      | --shards 0, 1 to 64000
  roll-key ${UNKNOWN_KEY} --grace 2h               | --grace, "2h", 24h
  roll-key rh_abc.secret                           | 16 characters
  revoke-key rh_abc.secret                         | 16 characters
  set-limit wiki --per-minute 0                    | 0, 1 to 100000000
  set-role bo@example.org king                     | "king", super_admin, none
  create-user x@example.org --role king            | "king", super_admin
  revoke bo@example.org wiki --provider gone       | "bo@example.org"
  audit --limit 0                                  | --limit 0, 1 to 10000
  list-users --limit 0                             | --limit 0, 1 to 10000
  set-origins wiki                                 | --add-origin, --remove-redirect, --origin
  set-origins wiki --origin https://a.example.org --add-origin x | --origin, --add-origin
  `,
  ...APP_SWITCH_NAMES.map((name) => ({
    ...{ line: `set-app wiki ${toDashed(name)} yes`, names: '"yes", on, off' },
  })),
];

/** The words of a command line. Words in quotes are JSON. */
const toWords = (line: string) =>
  (line.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? []).map((word) =>
    word.startsWith('"') ? String(JSON.parse(word)) : word,
  );
const toList = (cell: string) => (cell === "" ? [] : cell.split(",").map((part) => part.trim()));

/** The sentences, each below the command lines that got it. */
function renderSaid(said: readonly { line: string; err: string }[]): string {
  return [...Map.groupBy(said, ({ err }) => err)]
    .map(([err, lines]) => [...lines.map(({ line }) => `$ ${line}`), err].join("\n"))
    .join("");
}

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

test("a command on a missing record names it", async () => {
  const said = [];
  for (const { name, words, positionals } of ON_RECORDS) {
    const { code, out, err } = await admin.run(...words.slice(1));
    expect([name, code, out]).toEqual([name, 1, ""]);
    const records = positionals.flatMap((argument, index) =>
      OF_RECORDS.includes(argument) ? [words[index + 2] ?? ""] : [],
    );
    expect([err, records.some((record) => err.includes(record))]).toEqual([err, true]);
    said.push({ line: name, err });
  }
  expectSentences(renderSaid(said), {});
});

/** Checks the exit code, and the code and paths in the document of `--json`. Returns standard error. */
async function reject(
  run: typeof admin.run,
  words: readonly string[],
  wanted: { code: number; error: string; paths?: string[] },
): Promise<string> {
  const { code, out, err } = await run(...words, "--json");
  const { error, details } = JSON.parse(out) as { error: string; details: { path: string }[] };
  const found = { words, code, error, paths: details.map(({ path }) => path) };
  expect(found).toEqual({ words, paths: [], ...wanted });
  // A key that is passed instead of its id is not printed.
  expect(out).not.toContain("abc.secret");
  return err;
}

/** Checks which values a message names. */
function expectNames(line: string, err: string, names: string): void {
  const lacks = toList(names).filter((name) => !err.includes(name));
  expect({ line, err, lacks }).toEqual({ line, err, lacks: [] });
}

test("an impossible action is rejected with the reason", async () => {
  const said = [];
  for (const { line, names, paths, error } of IMPOSSIBLE) {
    const wanted = { code: 1, error: error || "invalid_request", paths: toList(paths) };
    const err = await reject(admin.run, toWords(line), wanted);
    expectNames(line, err, names);
    said.push({ line, err });
  }
  expectSentences(renderSaid(said), { varies: { ["x".repeat(201)]: "<201 characters>" } });
});

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

test("an invalid argument is a usage error that names the help", async () => {
  const said = [];
  for (const { line, names } of MISUSED) {
    const words = toWords(line);
    // create-user reports an unknown role together with other errors, for which it needs the database.
    const run = words[0] === "create-user" ? admin.run : runOffline;
    const err = await reject(run, words, { code: 2, error: "usage" });
    expectNames(line, err, names);
    const help = `see rowhouse admin ${words[0]} --help\n`;
    expect(err).toEndWith(help);
    said.push({ line: line.replace("abc.secret", "<secret>"), err: err.slice(0, -help.length) });
  }
  expectSentences(renderSaid(said), { hides: ["abc.secret"] });
});

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
