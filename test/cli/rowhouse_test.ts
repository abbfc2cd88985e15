import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { COMMANDS as COMMAND_ROWS } from "../../src/cli/commands.ts";
import { RELEASE } from "../../src/db/mod.ts";
import { cases } from "../support/cases.ts";
import { makeProject, ROOT, runCommand, runHere } from "../support/command.ts";
import { expectSentences } from "../support/sentences.ts";

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
  expect(origins).toContain("can be repeated");
});

test("rowhouse db --help lists only the commands of that group", async () => {
  const { code, out } = await runHere(["db", "--help"], project);
  expect([code, out.startsWith("Example:\n  ROWHOUSE_URL=")]).toEqual([0, true]);
  expect(out).toContain("db push");
  expect(out).not.toMatch(/^ {2}(dev|admin|serve)/m);
  expect(await runHere(["db", "--app", "wiki", "--help"], project)).toEqual({ code, out, err: "" });
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
  { typed: ["db", "status", "--to", ""], wanted: ["all", "dev", "production", "staging"] },
])("bash completes rowhouse $typed", async ({ typed, wanted }) => {
  project.write(
    "rowhouse.json",
    '{ "app": "wiki", "previews": ["filters"], "environments": { "staging": "https://a.example.org", "production": { "url": "https://b.example.org", "confirm": true } } }',
  );
  const { out } = await runHere(["completion", "bash"], project);
  const script = `${out}\nCOMP_WORDS=(rowhouse "$@"); COMP_CWORD=$#; _rowhouse; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const shell = Bun.spawnSync(["bash", "-c", script, "bash", ...typed], { cwd: project.folder });
  rmSync(join(project.folder, "rowhouse.json"));
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

describe("usage errors exit with 2 and name what is expected", () => {
  test.each(cases("words", "names")`
    migrte                                   | "migrte"; rowhouse migrate?; rowhouse --help
    banana                                   | "banana"; dev; serve; migrate; init; db; admin
    amdin list-apps                          | rowhouse admin list-apps?
    amdin                                    | rowhouse admin?
    admin creat-app                          | rowhouse admin create-app?
    dp push                                  | "dp"; rowhouse db push?
    psuh --yes                               | "psuh"; rowhouse db push?
    create-app x                             | rowhouse admin create-app?
    --verison                                | rowhouse --version?
    help amdin                               | rowhouse admin?
    admin frob --help                        | "admin frob"; admin create-app, admin list
    db x                                     | "db x"; db push, db plan; rowhouse db --help
    serve --rloe 1                           | "--rloe"; rowhouse serve; --role?
    serve --prot 1                           | rowhouse serve --help
    completion tcsh                          | "tcsh"; bash, zsh, fish
    dev -p 1                                 | "-p"; rowhouse dev; --port <port>
    dev --port                               | --port <port>
    dev --port x                             | --port x; from 0
    dev --preview bogus                      | --preview; filters
    dev --yes                                | --yes; rowhouse dev; --reset
    migrate --json=1                         | --json
    migrate now                              | "now"; rowhouse migrate
    admin create-app                         | <slug>
    admin grant wiki editor ada@example.org  | rowhouse admin grant <email> <app> <role>
    admin invite wiki ada@example.org editor | rowhouse admin invite <email> <app> <role>
    admin set-role admin ada＠example.org     | rowhouse admin set-role <email> <role>
    dev --port 1 --port 2                    | --port; 2 times
    migrate                                  | ADMIN_DATABASE_URL; DATABASE_URL
    admin list-apps                          | ADMIN_DATABASE_URL
    db status                                | ROWHOUSE_URL; ROWHOUSE_API_KEY
    db push --app x --url http://x           | --app; --url
    db push --url http://localhost           | ROWHOUSE_API_KEY
    db push --wait -1                        | --wait
  `)("rowhouse $words", async ({ words: text, names }) => {
    const words = text.split(" ");
    const { code, out, err } = await runHere(words, project);
    expect([code, out]).toEqual([2, ""]);
    expectSentences(err, { names: names.split("; ") });
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
  expectSentences(err, { names: Object.keys(env), hides: Object.values(env) });
});

test("serve reports a missing or empty DATABASE_URL", async () => {
  const { code, err } = await runHere(["serve"], { ...project, env: { DATABASE_URL: "" } });
  expect(code).toBe(1);
  expectSentences(err, { names: ["DATABASE_URL"] });
});

test("serve rejects a login that can read the rows of every app, and doctor accepts it", async () => {
  const env = { ROWS_DATABASE_URL: "postgres://rows:hunter2@127.0.0.1:1/none" };
  const served = await runHere(["serve"], { ...project, env });
  expect([served.code, served.out]).toEqual([1, ""]);
  expectSentences(served.err, { names: ["ROWS_DATABASE_URL"], hides: ["hunter2"] });
  const doctor = await runHere(["doctor"], { ...project, env });
  expect(doctor.out).not.toContain("ROWS_DATABASE_URL");
});

test("health without a service exits with 69", async () => {
  const { code, err } = await runCommand(["health"], { ...project, env: { PORT: "1" } });
  expect(code).toBe(69);
  expectSentences(err, { names: ["http://127.0.0.1:1/live"] });
});
