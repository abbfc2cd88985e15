/** Runs every command in docs/install.md and docs/operating.md, and compares the pages' names with the code. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findAppId } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { SETTINGS, toFileVariable } from "../../src/settings/mod.ts";
import { makeDatabase, withDatabase } from "../support/cluster.ts";
import { makeProject, type Outcome, ROOT, runCommand } from "../support/command.ts";
import { COMPOSE, SERVICES } from "../support/compose.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { pushDefinition } from "../support/push_steps.ts";
import { definitionOf } from "../support/service.ts";
import { share } from "../support/share.ts";

const PAGES = ["docs/install.md", "docs/operating.md"];
const page = PAGES.map((path) => readFileSync(join(ROOT, path), "utf8")).join("\n");
const readme = readFileSync(join(ROOT, "README.md"), "utf8");
const lines = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
  .flatMap(([, block = ""]) => block.split("\n"))
  .map((line) => line.replace(/\s+#.*$/, ""))
  // Remove the part that loads settings from a file: the test sets the environment.
  .map((line) => line.replace(/^\(set -a; \. \S+; (.*)\)$/, "$1 --operator"))
  .filter((line) => line !== "");
const commands = lines.filter((line) => line.startsWith("rowhouse "));
/** Commands that print more than their result. */
const NOTES: readonly [word: string, note: RegExp][] = [
  ["roll-key", /^The old key works until \S+Z\n$/],
  ["--dry-run", /^$/],
];

const database = await share(makeDatabase());
const project = await share(makeProject());

describe("the pages' commands", () => {
  /** The id of a live key; the page contains an invented id. */
  let keyId = "";

  async function run(line: string): Promise<Outcome> {
    const env = {
      DATABASE_URL: database.servingUrl,
      ADMIN_DATABASE_URL: database.adminUrl,
      DATABASE_PREPARE: database.prepare ? "on" : "off",
      COOKIE_DOMAIN: "example.org",
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    };
    const args = line.replace("k3x9q0m2w8z5t1ab", keyId).split(" ").slice(1);
    return await runCommand(args, { ...project, env });
  }

  /** Creates two apps that use the table of the page's transfer, leave and drop commands. The app tasks owns it. */
  async function shareTodos(): Promise<void> {
    await run("rowhouse admin create-app tasks --origin https://tasks.example.org");
    await withDatabase(database.adminUrl, async (admin) => {
      for (const slug of ["tasks", "wiki"]) {
        const app = { id: (await findAppId({ admin }, slug)) ?? "", slug };
        const definition = definitionOf(defineSchema({ todos: { title: t.string() } }));
        await pushDefinition(
          { admin, log: () => undefined },
          { app, definition, options: { dryRun: false } },
        );
      }
    });
  }

  test.each(commands)("run in order: %s", async (line) => {
    if (line.includes("transfer-table")) await shareTodos();
    const { code, out, err } = await run(line);
    const [, note] = NOTES.find(([word]) => line.includes(word)) ?? ["", /^$/];
    expect([code, err]).toEqual([0, expect.stringMatching(note)]);
    keyId = /^rh_([a-z0-9]{16})\./.exec(out)?.[1] ?? keyId;
  });

  test("are all covered, with some of each kind", () => {
    const kinds = new Set(commands.map((line) => line.split(" ").slice(1, 3).join(" ")));
    for (const kind of ["migrate", "doctor --operator", "admin roll-key", "admin revoke-key"])
      expect(kinds).toContain(kind);
    const rest = lines.filter((line) => !commands.includes(line));
    const others =
      /^(ADMIN_DATABASE_URL=.*|DATABASE_URL=.*|docker compose|cp|grep|rm|useradd|cd|set|pg_dump|pg_dumpall|psql|pg_restore|pg_upgrade|vacuumdb|export|systemctl) |^ /;
    expect(rest.filter((line) => !others.test(line))).toEqual([]);
  });
});

test("the page's logins of several processes get the rights of their roles", async () => {
  const [, section = ""] = page.split("## Several processes\n");
  const [, sql = ""] = /```sql\n([\s\S]*?)```/.exec(section) ?? [];
  const [, command = ""] = /```sh\n([\s\S]*?)```/.exec(section) ?? [];
  const logins = [...sql.matchAll(/create role (\w+)/g)].map(([, login = ""]) => login);
  const roles = logins.map((login) => login.replace(/^rowhouse_|_login$/g, ""));
  expect(roles).toEqual(["gateway", "data", "identity"]);
  await withDatabase(database.adminUrl, (admin) => admin.message(sql));
  try {
    for (const [at, role] of roles.entries()) {
      const line = command.replaceAll("data_login:DATA_", `${role}_login:${role.toUpperCase()}_`);
      const args = line.replace("ROLE=data", `ROLE=${role}`).split(/[\s\\]+/);
      const env = Object.fromEntries(
        args.flatMap((arg) => [toSetting(arg)].filter((setting) => setting !== undefined)),
      );
      const { code, out, err } = await runCommand(["migrate"], { ...project, env });
      expect([code, err]).toEqual([0, ""]);
      expect(out).toContain(`The role "${logins[at]}" can serve`);
    }
  } finally {
    const drops = logins.map((login) => `drop owned by ${login}; drop role ${login}`);
    await withDatabase(database.adminUrl, (admin) => admin.message(drops.join("; ")));
  }
});

/** Parses a setting of the page, and replaces the page's database with the test database. */
function toSetting(arg: string): [name: string, value: string] | undefined {
  const [, name = "", value = ""] = /^([A-Z_]+)=(.*)$/.exec(arg) ?? [];
  if (name === "") return undefined;
  if (!value.includes("db.example.org")) return [name, value];
  const real = new URL(database.adminUrl);
  if (name === "ADMIN_DATABASE_URL") return [name, real.href];
  const { username, password } = new URL(value);
  return [name, Object.assign(real, { username, password }).href];
}

test("the page runs an existing file of SQL", () => {
  const files = [...page.matchAll(/^\\i \/opt\/rowhouse\/(\S+)$/gm)].map(([, path = ""]) => path);
  expect(files.filter((path) => existsSync(join(ROOT, path)))).toEqual(["deploy/superuser.sql"]);
});

test("the page's Docker Compose commands name existing services", () => {
  const called = lines.filter((line) => line.startsWith("docker compose "));
  expect(called.length).toBeGreaterThan(4);
  const names = called.map((line) => /(?:up|exec|run --rm) ([a-z-]+)/.exec(line)?.[1] ?? line);
  expect(SERVICES.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
  for (const [, profile = ""] of page.matchAll(/--profile ([a-z]+)/g))
    expect(SERVICES.some(({ profiles }) => profiles.includes(profile))).toBe(true);
  expect(COMPOSE.text).toContain("/docker-entrypoint-initdb.d/init_logins.sh");
});

test("every term in capitals is a setting or a variable in compose.yaml", () => {
  const used = new Set(
    [...page.matchAll(/`([A-Z][A-Z_]{3,})(?:=[^`]*)?`/g)].map(([, name = ""]) => name),
  );
  const known = [
    ...Object.keys(SETTINGS),
    ...Object.keys(SETTINGS).map(toFileVariable),
    ...[...COMPOSE.text.matchAll(/[A-Z][A-Z_]{3,}/g)].flat(),
  ];
  const otherTerms = [
    ...["LOGIN", "SIGHUP", "SIGTERM", "LISTEN", "COMPOSE_PROFILES", "CLUSTER_URL"],
    ...["NODE_EXTRA_CA_CERTS", "SUPERUSER_URL", "BACKUP_URL", "RESTORE_URL", "NEXT_SUPERUSER_URL"],
    ...["NEXT_RESTORE_URL", "BUN_CONFIG_MAX_HTTP_REQUESTS", "PGPASSWORD", "POSTGRES_BIN"],
  ];
  expect([...used].filter((name) => ![...known, ...otherTerms].includes(name))).toEqual([]);
  expect(used.size).toBeGreaterThan(15);
});

test.each([
  { name: PAGES.join(" and "), text: page, folder: "docs" },
  { name: "README.md", text: readme, folder: "." },
])("$name links to existing files", ({ text, folder }) => {
  const targets = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = ""]) => target);
  expect(targets.length).toBeGreaterThan(1);
  expect(targets.filter((target) => !existsSync(join(ROOT, folder, target)))).toEqual([]);
});
