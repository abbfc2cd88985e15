/** compose.yaml and its split overlay: known settings, required secrets, commands that exist, logins of least rights. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { readConfig, SETTINGS } from "../../src/config.ts";
import { ROOT } from "../support/command.ts";
import {
  type DebianCluster,
  hasDebianPostgres,
  startDebianCluster,
} from "../support/debian_cluster.ts";

const Env = v.record(v.string(), v.string());
const File = v.object({
  services: v.record(
    v.string(),
    v.object({
      build: v.optional(v.string()),
      image: v.optional(v.string()),
      command: v.optional(v.array(v.string())),
      environment: v.optional(Env, {}),
    }),
  ),
  configs: v.record(v.string(), v.object({ file: v.string() })),
});

const FILES = ["compose.yaml", "compose.split.yaml"].map((name) => {
  const text = readFileSync(join(ROOT, name), "utf8");
  // The tag is compose's own: the overlay's variables stand in place of those below.
  return { name, text, ...v.parse(File, Bun.YAML.parse(text.replaceAll("!override", ""))) };
});
const SERVICES = FILES.flatMap(({ name: file, services }) =>
  Object.entries(services).map(([service, parts]) => ({
    name: `${file}: ${service}`,
    service,
    ...parts,
  })),
);
const OURS = SERVICES.filter(({ service }) => !["postgres", "pgbouncer"].includes(service));

test.each(OURS)("$name sets only settings, and they are a configuration", ({ environment }) => {
  expect(Object.keys(SETTINGS)).toEqual(expect.arrayContaining(Object.keys(environment)));
  const filled = Object.entries(environment).map(([name, value]) => [name, fill(value)]);
  expect(() => readConfig(Object.fromEntries(filled))).not.toThrow();
});

test.each(OURS)(
  "$name serves as a login that is not the administrator",
  ({ environment, command }) => {
    const { DATABASE_URL, ROLE, ADMIN_DATABASE_URL } = environment;
    const login = ROLE === undefined ? "rowhouse_login" : `rowhouse_${ROLE}_login`;
    expect(new URL(fill(DATABASE_URL ?? "")).username).toBe(login);
    if (ADMIN_DATABASE_URL !== undefined)
      expect(new URL(fill(ADMIN_DATABASE_URL)).username).toBe("rowhouse_admin");
    for (const word of command ?? []) expect(["migrate", "serve"]).toContain(word);
  },
);

test.each(SERVICES)("$name names no secret, and asks for each", ({ environment }) => {
  for (const [name, value] of Object.entries(environment)) {
    if (/PASSWORD|SECRET/.test(name)) expect(value).toMatch(/^\$\{[A-Z_]+:\?set [A-Z_]+\}$/);
    for (const [, variable = "", rest = ""] of value.matchAll(/\$\{([A-Z_]+)([^}]*)\}/g))
      if (/PASSWORD|SECRET/.test(variable)) expect(rest).toBe(`:?set ${variable}`);
    expect(value).not.toMatch(/:\/\/[^:/@]+:(?!\$\{)[^@]*@/);
  }
});

test("the pooler is never the administrator", () => {
  const poolers = SERVICES.filter(({ service }) => service === "pgbouncer");
  expect(poolers).toHaveLength(2);
  for (const { environment } of poolers)
    for (const name of ["DB_USER", "AUTH_USER"])
      expect(environment[name]).not.toBe("rowhouse_admin");
});

test("the scripts that are named are there, and are what bash can read", () => {
  const scripts = FILES.flatMap(({ configs }) => Object.values(configs).map(({ file }) => file));
  expect(scripts).toHaveLength(2);
  for (const script of scripts) execFileSync("bash", ["-n", join(ROOT, script)]);
});

describe.skipIf(!hasDebianPostgres)("the logins of the split house", () => {
  let cluster: DebianCluster;
  beforeAll(async () => {
    cluster = await startDebianCluster();
    execFileSync("bash", [join(ROOT, "deploy/init_split_logins.sh")], {
      stdio: "pipe",
      env: {
        PATH: `/usr/lib/postgresql/15/bin:${process.env["PATH"]}`,
        PGHOST: "127.0.0.1",
        PGPORT: new URL(cluster.url).port,
        POSTGRES_USER: "postgres",
        POSTGRES_DB: "postgres",
        ROWHOUSE_LOGIN_PASSWORD: "letters and digits",
      },
    });
  }, 60_000);
  afterAll(() => cluster.stop());

  const ask = (user: string, statement: string) => {
    const url = new URL(cluster.url);
    url.username = user;
    const done = Bun.spawnSync(["/usr/lib/postgresql/15/bin/psql", url.href, "-XAtc", statement]);
    return done.exitCode === 0 ? done.stdout.toString().trim() : done.stderr.toString().trim();
  };
  const query = (name: string) => {
    const text = FILES[1]?.services["pgbouncer"]?.environment["AUTH_QUERY"] ?? "";
    return text.replace("$$1", `'${name}'`);
  };

  test.each(["gateway", "data", "identity"])("the pooler finds that of %s", (role) => {
    const login = `rowhouse_${role}_login`;
    expect(ask("rowhouse_pooler", query(login))).toStartWith(`${login}|SCRAM-SHA-256$`);
  });

  test.each(["postgres", "rowhouse_pooler", "nobody"])(
    "the pooler does not find that of %s",
    (name) => {
      expect(ask("rowhouse_pooler", query(name))).toBe("");
    },
  );

  test("the pooler reads no password by itself, and nobody else asks for one", () => {
    expect(ask("rowhouse_pooler", "select passwd from pg_catalog.pg_shadow")).toContain(
      "permission denied",
    );
    expect(ask("rowhouse_data_login", query("rowhouse_gateway_login"))).toContain(
      "permission denied",
    );
  });
});

/** With a value for every variable, or its default. */
function fill(text: string): string {
  return text.replace(
    /\$\{([A-Z_]+)(:[?-])?([^}]*)\}/g,
    (_, name: string, mark: string, rest: string) => {
      if (mark === ":-") return rest;
      return name === "IDENTITY_URL"
        ? "https://id.example.org"
        : name === "COOKIE_DOMAIN"
          ? "example.org"
          : "a".repeat(48);
    },
  );
}
