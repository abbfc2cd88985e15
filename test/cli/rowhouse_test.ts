import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { COMMANDS as COMMAND_ROWS } from "../../src/cli/commands.ts";
import { RELEASE } from "../../src/db/mod.ts";
import { makeProject, ROOT, runCommand, runHere } from "../support/command.ts";

let project: ReturnType<typeof makeProject>;
beforeAll(() => {
  project = makeProject();
});
afterAll(() => project.remove());

const COMMANDS = COMMAND_ROWS.map(({ name }) => name);

test.each(COMMANDS)("rowhouse %s --help opens with an example", async (name) => {
  const { code, out } = await runHere([...name.split(" "), "--help"], project);
  expect(code).toBe(0);
  expect(out).toMatch(/^Example:\n {2}.*rowhouse/);
  expect(out).toContain(`\nrowhouse ${name}`);
});

test("a command's help names its settings, repeatable options, and only its own --json", async () => {
  const [doctor, openapi, origins] = await Promise.all(
    [["doctor"], ["openapi"], ["admin", "set-origins"]].map(async (words) => {
      const { out } = await runHere([...words, "--help"], project);
      return out;
    }),
  );
  expect(doctor).toContain("MAIL_URL");
  expect(doctor).toContain("OIDC_<NAME>_ISSUER");
  expect(doctor).toContain("With --json an error");
  expect(openapi).not.toContain("--json");
  expect(origins).toContain("replaces all origins");
});

test("rowhouse admin set-limit --help explains that limits apply to all processes together", async () => {
  const { out } = await runHere(["admin", "set-limit", "--help"], project);
  expect(out).toContain("Limits apply to all serving processes together.");
});

test("rowhouse db --help lists only the commands of that group", async () => {
  const { code, out } = await runHere(["db", "--help"], project);
  expect([code, out.startsWith("Example:\n  ROWHOUSE_URL=")]).toEqual([0, true]);
  expect(out).toContain("db push");
  expect(out).not.toMatch(/^ {2}(dev|admin|serve)/m);
});

test("rowhouse db without a command prints the group's help and exits with a usage error", async () => {
  const { out } = await runHere(["db", "--help"], project);
  expect(await runHere(["db"], project)).toEqual({ code: 2, out, err: "" });
  expect(await runHere(["db", "help"], project)).toEqual({ code: 0, out, err: "" });
});

test("rowhouse --version prints the versions of the package, its tables and its code", async () => {
  const { version } = await Bun.file(join(ROOT, "package.json")).json();
  expect(RELEASE.version).toBe(version);
  const text = `${version} (tables ${RELEASE.tables}, code ${RELEASE.code})`;
  const printed = { code: 0, out: `${text}\n`, err: "" };
  for (const word of ["--version", "version"])
    expect(await runCommand([word], project)).toEqual(printed);
  const { out } = await runHere(["--version", "--json"], project);
  expect(JSON.parse(out)).toEqual(RELEASE);
});

test.each([
  { typed: ["d"], wanted: ["dev", "db", "data", "doctor"] },
  { typed: ["db", "pu"], wanted: ["push", "pull"] },
  { typed: ["db", "push", "--sch"], wanted: ["--schema"] },
  { typed: ["serve", "--r"], wanted: ["--role"] },
  { typed: ["admin", "list-k"], wanted: ["list-keys"] },
  { typed: ["db", "push", "--to", "s"], wanted: ["staging"] },
  { typed: ["db", "status", "--to", ""], wanted: ["all", "production", "staging"] },
])("bash completes rowhouse $typed", async ({ typed, wanted }) => {
  project.write(
    "rowhouse.json",
    '{ "places": { "staging": "https://a.example.org", "production": { "url": "https://b.example.org", "confirm": true } } }',
  );
  const { out } = await runHere(["completion", "bash"], project);
  const script = `${out}\nCOMP_WORDS=(rowhouse "$@"); COMP_CWORD=$#; _rowhouse; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const shell = Bun.spawnSync(["bash", "-c", script, "bash", ...typed], { cwd: project.folder });
  expect(shell.stdout.toString().trim().split("\n").sort()).toEqual(wanted.toSorted());
});

test.each(["zsh", "fish"])("rowhouse completion %s names every command and flag", async (shell) => {
  const { code, out } = await runHere(["completion", shell], project);
  expect(code).toBe(0);
  for (const word of [...COMMANDS.flatMap((name) => name.split(" ")), "journal"])
    expect(out).toContain(word);
});

test("rowhouse --help opens with an example and lists every command", async () => {
  const { code, out } = await runHere(["--help"], project);
  expect(code).toBe(0);
  expect(out).toStartWith("Example:\n  rowhouse dev");
  for (const name of COMMANDS) expect(out).toContain(`\n  ${name} `);
});

describe("usage errors exit with 2 and state what is expected", () => {
  test.each([
    { words: ["migrte"], says: 'Unknown command "migrte": did you mean rowhouse migrate?' },
    {
      words: ["banana"],
      says: '"banana": expected one of dev, serve, migrate, init, db, data, openapi, admin, health',
    },
    { words: ["amdin", "list-apps"], says: "did you mean rowhouse admin list-apps?" },
    { words: ["amdin"], says: "did you mean rowhouse admin?" },
    { words: ["admin", "creat-app"], says: "did you mean rowhouse admin create-app?" },
    { words: ["dp", "push"], says: 'Unknown command "dp": did you mean rowhouse db push?' },
    { words: ["db", "x"], says: 'Unknown command "db x": expected one of db push, db plan' },
    { words: ["db", "x"], says: "\nsee rowhouse db --help\n" },
    { words: ["serve", "--rloe", "1"], says: '"--rloe" for rowhouse serve: did you mean --role?' },
    { words: ["serve", "--prot", "1"], says: "\nsee rowhouse serve --help\n" },
    { words: ["migrte"], says: "\nsee rowhouse --help\n" },
    { words: ["completion", "tcsh"], says: 'Unknown shell "tcsh": expected bash, zsh, fish' },
    {
      words: ["dev", "-p", "1"],
      says: 'Unknown flag "-p" for rowhouse dev: expected --port <port>',
    },
    { words: ["dev", "--port"], says: "Flag --port needs a value: --port <port>" },
    { words: ["dev", "--port", "x"], says: "Cannot read --port x: must be a whole number from 0" },
    { words: ["dev", "--preview", "bogus"], says: "Cannot read --preview: must be one of filters" },
    { words: ["dev", "--yes"], says: "Flag --yes of rowhouse dev requires --reset" },
    { words: ["migrate", "--json=1"], says: "Flag --json does not accept a value" },
    { words: ["migrate", "now"], says: 'Unexpected argument "now" after rowhouse migrate' },
    { words: ["admin", "create-app"], says: "Missing <slug>" },
    {
      words: ["admin", "grant", "wiki", "editor", "ada@example.org"],
      says: "Wrong order of arguments: expected rowhouse admin grant <email> <app> <role>",
    },
    {
      words: ["admin", "invite", "wiki", "ada@example.org", "editor"],
      says: "Wrong order of arguments: expected rowhouse admin invite <email> <app> <role>",
    },
    {
      words: ["admin", "set-role", "admin", "ada＠example.org"],
      says: "Wrong order of arguments: expected rowhouse admin set-role <email> <role>",
    },
    { words: ["dev", "--port", "1", "--port", "2"], says: "--port is given 2 times" },
    { words: ["migrate"], says: "needs ADMIN_DATABASE_URL or DATABASE_URL" },
    { words: ["admin", "list-apps"], says: "set ADMIN_DATABASE_URL" },
    { words: ["db", "status"], says: "set ROWHOUSE_URL and ROWHOUSE_API_KEY" },
    {
      words: ["db", "push", "--app", "x", "--url", "http://x"],
      says: "Cannot use --app with --url",
    },
    { words: ["db", "push", "--url", "http://localhost"], says: "ROWHOUSE_API_KEY is not set" },
    { words: ["db", "push", "--wait", "-1"], says: "--wait" },
  ])("rowhouse $words", async ({ words, says }) => {
    const { code, out, err } = await runHere(words, project);
    expect(err).toContain(says);
    expect([code, out]).toEqual([2, ""]);
  });
});

test("configuration errors are reported together, without values", async () => {
  const env = {
    DATABASE_URL: "hunter2-is-no-url",
    PORT: "hunter3",
    LOG_LEVEL: "hunter4",
    ROWHOUSE_HUNTER: "hunter5",
  };
  const { code, out, err } = await runCommand(["serve"], { ...project, env });
  expect([code, out]).toEqual([1, ""]);
  for (const name of Object.keys(env)) expect(err).toContain(name);
  expect(err).not.toMatch(/hunter\d/);
});

test("serve reports a missing or empty DATABASE_URL", async () => {
  const { code, err } = await runHere(["serve"], { ...project, env: { DATABASE_URL: "" } });
  expect(code).toBe(1);
  expect(err).toContain("DATABASE_URL is not set");
});

test("serve rejects a login that can read the rows of every app, and doctor accepts it", async () => {
  const env = { ROWS_DATABASE_URL: "postgres://rows:hunter2@127.0.0.1:1/none" };
  const served = await runHere(["serve"], { ...project, env });
  expect([served.code, served.out]).toEqual([1, ""]);
  expect(served.err).toContain("ROWS_DATABASE_URL must not be set");
  expect(served.err).not.toContain("hunter2");
  const doctor = await runHere(["doctor"], { ...project, env });
  expect(doctor.out).not.toContain("ROWS_DATABASE_URL must");
});

test("health without a service exits with 69", async () => {
  const { code, err } = await runCommand(["health"], { ...project, env: { PORT: "1" } });
  expect([code, err]).toEqual([69, "No response from http://127.0.0.1:1/live\n"]);
});
