/** compose.yaml: two shapes, known settings, no secrets, existing commands, and logins with the least rights. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { REMOVED_SETTINGS, readConfig, SETTINGS } from "../../src/settings/mod.ts";
import { COMPOSE as VARIABLES } from "../../tools/generated.ts";
import { ROOT } from "../support/command.ts";
import {
  COMPOSE,
  type ComposeService,
  fillIn,
  runInitLogins,
  SERVICES,
} from "../support/compose.ts";
import {
  type DebianCluster,
  hasDebianPostgres,
  startDebianCluster,
} from "../support/debian_cluster.ts";

const VALUES = Object.fromEntries(
  Object.keys(VARIABLES).map((name) => [name, `${name}-of-letters-and-digits`]),
);
const ENV = {
  ...VALUES,
  INTERNAL_HMAC_SECRET_DATA: "d".repeat(32),
  INTERNAL_HMAC_SECRET_IDENTITY: "i".repeat(32),
  IDENTITY_SECRET: "p".repeat(32),
  COOKIE_DOMAIN: "example.org",
  IDENTITY_URL: "https://id.example.org",
};
/** The settings that a process reads, or names because they have no effect. */
const NAMES = [...Object.keys(SETTINGS), ...Object.keys(REMOVED_SETTINGS)];
const OURS = SERVICES.filter(({ build }) => build !== undefined);
/** All services except the service that operators run by hand. */
const CONNECTED = OURS.filter(({ name }) => name !== "admin");
/** The process that callers reach, by shape. */
const SHAPES = [
  { shape: "single", front: "rowhouse", others: ["migrate", "pgbouncer", "postgres"] },
  {
    shape: "split",
    front: "gateway",
    others: [
      ...["data", "identity", "migrate-data", "migrate-gateway", "migrate-identity", "pooler"],
      ...["postgres"],
    ],
  },
];

describe.each(SHAPES)("the shape $shape", ({ shape, front, others }) => {
  const inShape = SERVICES.filter(({ profiles }) => profiles.includes(shape));

  test("a profile starts only the services of its shape, and all of them", () => {
    expect(inShape.map(({ name }) => name).sort()).toEqual([...others, front].sort());
  });

  test(`the service ${front} starts the whole shape`, () => {
    expect([...findNeeded(front)].sort()).toEqual([...others, front].sort());
  });

  test("depends only on services that it starts", () => {
    for (const { depends_on } of inShape)
      expect(inShape.map(({ name }) => name)).toEqual(
        expect.arrayContaining(Object.keys(depends_on)),
      );
  });

  test(`is reachable only through ${front}`, () => {
    const published = inShape.filter(({ ports }) => ports.length > 0);
    expect(published.map(({ name }) => name)).toEqual([front]);
  });

  test("publishes its port only to this machine by default", () => {
    const ports = Object.fromEntries(inShape.flatMap(({ ports }) => ports).entries());
    expect(Object.values(fillIn(ports, {}))).toEqual(["127.0.0.1:8787:8787"]);
  });

  test("waits for its migration and its pooler before it serves", () => {
    for (const one of inShape.filter((service) => service.build && !service.command)) {
      const role = one.environment["ROLE"];
      expect(one.depends_on).toMatchObject({
        [role === undefined ? "migrate" : `migrate-${role}`]: {
          condition: "service_completed_successfully",
        },
        [role === undefined ? "pgbouncer" : "pooler"]: { condition: "service_started" },
      });
    }
  });
});

test("the service for operators is in neither shape, and runs admin commands with the administrator's login", () => {
  const admin = OURS.find(({ name }) => name === "admin");
  expect(admin).toMatchObject({ profiles: ["admin"], depends_on: {} });
  const entry = readFileSync(join(ROOT, "Dockerfile"), "utf8").match(/^ENTRYPOINT (.*)$/m)?.[1];
  expect(admin?.entrypoint).toEqual([...JSON.parse(entry ?? "[]"), "admin"]);
});

test("every service has a profile, because a service without a profile starts in both shapes", () => {
  expect(SERVICES.filter(({ profiles }) => profiles.length === 0)).toEqual([]);
});

test("the split shape has two data services", () => {
  expect(SERVICES.find(({ name }) => name === "data")?.deploy?.replicas).toBe(2);
});

test("every variable is a setting or is listed in .env.example", () => {
  const known = [...NAMES, ...Object.keys(VARIABLES)];
  const used = new Set([...COMPOSE.text.matchAll(/\$\{([A-Z_]+)/g)].map(([, name = ""]) => name));
  expect(known).toEqual(expect.arrayContaining([...used]));
  expect([...used]).toEqual(expect.arrayContaining(Object.keys(VARIABLES)));
});

describe("settings", () => {
  /** Settings with a fixed value in compose.yaml, and the reason. */
  const fixed = [...COMPOSE.text.matchAll(/^# {3}([A-Z_, ]+): \S/gm)].flatMap(([, names = ""]) =>
    names.split(", "),
  );
  const isPassed = ({ environment }: ComposeService, name: string) =>
    environment[name]?.startsWith(`\${${name}:`) === true;
  const serving = OURS.filter(({ command, entrypoint }) => !command && !entrypoint);
  /** Only the processes that need a secret get it. The address of the mail server contains a password. */
  const shared = NAMES.filter((name) => !fixed.includes(name) && !/SECRET|^MAIL_/.test(name));

  test("of the mail server reach only the processes with sign-in", () => {
    for (const name of ["MAIL_URL", "MAIL_FROM"])
      expect(serving.filter((one) => isPassed(one, name)).map((one) => one.name)).toEqual([
        "rowhouse",
        "identity",
      ]);
  });

  test("are all passed to the services, or excluded with a reason", () => {
    expect(fixed.filter((name) => !(name in SETTINGS))).toEqual([]);
    expect(shared.length).toBeGreaterThan(15);
    expect(serving.map(({ name }) => name).sort()).toEqual([
      "data",
      "gateway",
      "identity",
      "rowhouse",
    ]);
    for (const service of serving)
      expect(shared.filter((name) => !isPassed(service, name))).toEqual([]);
  });

  test("with fixed values ignore .env, except for the published port", () => {
    expect([fixed.length > 3, OURS.length > 3]).toEqual([true, true]);
    for (const { environment } of OURS)
      expect(fixed.filter((name) => environment[name]?.includes(`\${${name}:`))).toEqual([]);
  });

  test("with secrets reach only the services that need them", () => {
    const holders = (name: string) =>
      serving.filter((service) => isPassed(service, name)).map((service) => service.name);
    expect(holders("IDENTITY_SECRET").sort()).toEqual(["identity", "rowhouse"]);
    const files = SERVICES.filter(({ env_file }) => env_file.length > 0).map(({ name }) => name);
    expect(files.sort()).toEqual(["admin", "identity", "rowhouse"]);
    expect(holders("INTERNAL_HMAC_SECRET_DATA")).toEqual(["gateway"]);
    expect(holders("INTERNAL_HMAC_SECRET_IDENTITY")).toEqual(["gateway"]);
  });
});

test("variables of only one shape are optional, because Compose reads the variables of both shapes", () => {
  const variables = [...COMPOSE.text.matchAll(/\$\{([A-Z_]+)([^}]*)\}/g)];
  expect(variables.length).toBeGreaterThan(50);
  for (const [, name = "", rest = ""] of variables) {
    if (rest.startsWith(":?"))
      expect([
        ...["SUPERUSER_PASSWORD", "ADMIN_PASSWORD", "LOGIN_PASSWORD", "PUSH_PASSWORD"],
        ...["CONSOLE_PASSWORD", "IDENTITY_PASSWORD", "COOKIE_DOMAIN", "IDENTITY_SECRET"],
      ]).toContain(name);
    if (/PASSWORD|SECRET/.test(name)) expect([`:?set ${name}`, ":-"]).toContain(rest);
  }
});

test.each(OURS)("$name sets only settings, and the configuration is valid", ({ environment }) => {
  expect(NAMES).toEqual(expect.arrayContaining(Object.keys(environment)));
  expect(readConfig(fillIn(environment, ENV))).not.toHaveProperty("issues");
});

test.each(OURS.filter(({ environment }) => environment["ROLE"] !== undefined))(
  "$name does not start without the secret that Compose cannot require",
  ({ environment }) => {
    const without = { INTERNAL_HMAC_SECRET_DATA: "", INTERNAL_HMAC_SECRET_IDENTITY: "" };
    expect(readConfig(fillIn(environment, { ...ENV, ...without }))).toHaveProperty("issues", [
      expect.stringContaining("INTERNAL_HMAC_SECRET"),
    ]);
  },
);

test.each([
  { name: "data", knows: "d", not: "i" },
  { name: "identity", knows: "i", not: "d" },
  { name: "migrate-data", knows: "d", not: "i" },
  { name: "migrate-identity", knows: "i", not: "d" },
])("$name has no secret of another service", ({ name, knows, not }) => {
  const { environment = {} } = SERVICES.find((one) => one.name === name) ?? {};
  const values = Object.values(fillIn(environment, ENV));
  expect(values).toContain(knows.repeat(32));
  expect(values).not.toContain(not.repeat(32));
});

test.each(CONNECTED)("$name connects as the login of its role", ({ environment, command }) => {
  const { DATABASE_URL, ROLE, ADMIN_DATABASE_URL } = fillIn(environment, ENV);
  const readUser = (url = "") => new URL(url).username;
  expect(readUser(DATABASE_URL)).toBe(
    ROLE === undefined ? "rowhouse_login" : `rowhouse_${ROLE}_login`,
  );
  const pushing = command === undefined ? "rowhouse_push_login" : "rowhouse_admin";
  if (ADMIN_DATABASE_URL !== undefined) expect(readUser(ADMIN_DATABASE_URL)).toBe(pushing);
  for (const word of command ?? []) expect(["migrate", "serve"]).toContain(word);
});

test("in the split shape only the data service may push, and no two services share a password", () => {
  const serving = OURS.filter(({ command, profiles }) => !command && profiles.includes("split"));
  const pushing = serving.filter(({ environment }) => "ADMIN_DATABASE_URL" in environment);
  expect(pushing.map(({ name }) => name)).toEqual(["data"]);
  const passwords = serving.map(
    ({ environment }) =>
      [environment["DATABASE_URL"]].map((url = "") => /\$\{([A-Z_]+)/.exec(url)?.[1])[0],
  );
  expect(new Set(passwords).size).toBe(serving.length);
});

test.each(SERVICES)("$name contains no secret", ({ environment }) => {
  for (const [name, value] of Object.entries(environment)) {
    if (/PASSWORD|SECRET/.test(name)) expect(value).toMatch(/^\$\{[A-Z_]+:[?-][^}]*\}$/);
    expect(value).not.toMatch(/:\/\/[^:/@]+:(?!\$\{)[^@]*@/);
  }
});

test.each(SERVICES)("$name has a read-only image and no capability", (service) => {
  expect(service).toMatchObject({
    read_only: true,
    tmpfs: expect.arrayContaining(["/tmp"]),
    cap_drop: ["ALL"],
    cap_add: [],
    security_opt: ["no-new-privileges:true"],
    privileged: false,
  });
});

test.each([
  { image: "postgres:", writes: ["/tmp", "/var/run/postgresql"], volumes: 1 },
  { image: "edoburu/pgbouncer:", writes: ["/tmp", "/etc/pgbouncer"], volumes: 0 },
  { image: undefined, writes: ["/tmp"], volumes: 0 },
])("containers of $image write to memory, and store data in a volume", (one) => {
  const services = SERVICES.filter(({ image }) =>
    one.image === undefined ? image === undefined : image?.startsWith(one.image),
  );
  expect(services.length).toBeGreaterThan(0);
  for (const { tmpfs, volumes } of services)
    expect({ tmpfs, volumes: volumes.length }).toEqual({
      tmpfs: [...one.writes],
      volumes: one.volumes,
    });
});

test("no service runs as root, and a service whose image defaults to root names an account", () => {
  expect(SERVICES.find(({ name }) => name === "postgres")?.user).toBe("postgres");
  expect(readFileSync(join(ROOT, "Dockerfile"), "utf8")).toMatch(/^USER 1000:1000$/m);
});

describe("networks", () => {
  const networksOf = (name: string) => SERVICES.find((one) => one.name === name)?.networks ?? [];
  const members = (network: string) =>
    SERVICES.filter(({ networks }) => networks.includes(network)).map(({ name }) => name);

  test("only services that face callers are reachable from outside", () => {
    const open = Object.entries(COMPOSE.networks).filter(([, { internal }]) => !internal);
    expect(open.map(([name]) => name)).toEqual(["outside"]);
    expect(members("outside").sort()).toEqual(["gateway", "rowhouse"]);
    expect(SERVICES.filter(({ ports }) => ports.length > 0).map(({ name }) => name)).toEqual(
      members("outside"),
    );
  });

  test("only services that pool, push, migrate or administer reach PostgreSQL", () => {
    expect(networksOf("postgres")).toEqual(["database"]);
    expect(members("database").sort()).toEqual([
      ...["admin", "data", "migrate", "migrate-data", "migrate-gateway", "migrate-identity"],
      ...["pgbouncer", "pooler", "postgres", "rowhouse"],
    ]);
  });

  test("data and identity share no network", () => {
    const shared = networksOf("data").filter((name) => networksOf("identity").includes(name));
    expect(shared).toEqual([]);
    expect(members("data").sort()).toEqual(["data", "gateway", "pooler"]);
    expect(members("identity").sort()).toEqual(["gateway", "identity", "pooler"]);
  });

  // A one-shot's DATABASE_URL names a login; it connects as the administrator.
  const addressed = SERVICES.flatMap(({ name, environment, command }) =>
    Object.entries(fillIn(environment, ENV))
      .filter(([key]) => !(command?.includes("migrate") && key !== "ADMIN_DATABASE_URL"))
      .flatMap(([, value]) => {
        const host = /^(?:http:\/\/|postgres:\/\/.*@)([a-z]+):\d+/.exec(value)?.[1];
        return host === undefined ? [] : [{ name, host }];
      }),
  );
  test.each(addressed)("$name can reach $host", ({ name, host }) => {
    expect(networksOf(name).some((network) => networksOf(host).includes(network))).toBe(true);
  });

  test("a pooler reaches the database", () => {
    for (const { networks } of SERVICES.filter(({ image }) => image?.includes("pgbouncer")))
      expect(networks).toContain("database");
  });
});

test("an image tag contains a version", () => {
  for (const { image } of SERVICES)
    if (image !== undefined) expect(image).toMatch(/:v?\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?$/);
});

test("a pooler never connects as the administrator", () => {
  const poolers = SERVICES.filter(({ image }) => image?.includes("pgbouncer"));
  expect(poolers.map(({ name }) => name)).toEqual(["pgbouncer", "pooler"]);
  for (const { environment } of poolers)
    for (const name of ["DB_USER", "AUTH_USER"])
      expect(environment[name]).not.toBe("rowhouse_admin");
});

test("the init script exists, and bash can parse it", () => {
  const scripts = Object.values(COMPOSE.configs).map(({ file }) => file);
  expect(scripts).toEqual(["deploy/init_logins.sh", "deploy/superuser.sql"]);
  for (const script of scripts.filter((file) => file.endsWith(".sh")))
    execFileSync("bash", ["-n", join(ROOT, script)]);
});

describe.skipIf(!hasDebianPostgres)("deploy/init_logins.sh", () => {
  let cluster: DebianCluster;
  beforeAll(async () => {
    cluster = await startDebianCluster();
  }, 60_000);
  afterAll(() => cluster.stop());

  const ask = (user: string, statement: string) => {
    const url = new URL(cluster.url);
    url.username = user;
    const done = Bun.spawnSync(["/usr/lib/postgresql/15/bin/psql", url.href, "-XAtc", statement]);
    return done.exitCode === 0 ? done.stdout.toString().trim() : done.stderr.toString().trim();
  };
  const listLogins = () =>
    ask("postgres", "select rolname from pg_roles where rolname like 'rowhouse%' order by 1")
      .split("\n")
      .filter(Boolean);
  const query = (name: string) =>
    (pooler?.environment["AUTH_QUERY"] ?? "").replace("$$1", `'${name}'`);
  const pooler = SERVICES.find(({ name }) => name === "pooler");

  test("creates three logins in the single shape, also when run twice", () => {
    const passwords = {
      ADMIN_PASSWORD: "four",
      LOGIN_PASSWORD: "one",
      PUSH_PASSWORD: "two",
      CONSOLE_PASSWORD: "three",
    };
    for (const _ of [1, 2]) runInitLogins(cluster, passwords);
    expect(listLogins()).toEqual([
      ...["rowhouse_admin", "rowhouse_console_login", "rowhouse_login", "rowhouse_owner"],
      ...["rowhouse_push_login", "rowhouse_tables"],
    ]);
  });

  test("creates one login per role in the split shape, also after the single shape", () => {
    for (const _ of [1, 2]) runInitLogins(cluster, VALUES);
    expect(listLogins()).toEqual([
      ...["rowhouse_admin", "rowhouse_console_login", "rowhouse_data_login"],
      ...["rowhouse_gateway_login", "rowhouse_identity_login", "rowhouse_login", "rowhouse_owner"],
      ...["rowhouse_pooler", "rowhouse_push_login", "rowhouse_tables"],
    ]);
    const text = `select rolname from pg_roles where rolname like 'rowhouse%' and rolname <> 'rowhouse_admin'
      and (rolsuper or rolcreaterole or rolcreatedb or rolbypassrls or rolreplication)`;
    expect(ask("postgres", text)).toBe("");
  });

  test.each(["gateway", "data", "identity", "console"])(
    "lets the pooler find the login of %s",
    (role) => {
      const login = `rowhouse_${role}_login`;
      expect(ask("rowhouse_pooler", query(login))).toStartWith(`${login}|SCRAM-SHA-256$`);
    },
  );

  test.each(["postgres", "rowhouse_pooler", "rowhouse_push_login", "nobody"])(
    "does not let the pooler find the login of %s",
    (name) => {
      expect(ask("rowhouse_pooler", query(name))).toBe("");
    },
  );

  test("lets the pooler read no password directly, and lets no other role request a password", () => {
    for (const [user, text] of [
      ["rowhouse_pooler", "select passwd from pg_catalog.pg_shadow"],
      ["rowhouse_data_login", query("rowhouse_gateway_login")],
    ] as const)
      expect(ask(user, text)).toContain("permission denied");
  });
});

/** A service and all its direct and indirect dependencies. */
function findNeeded(name: string): Set<string> {
  const service: ComposeService | undefined = SERVICES.find((one) => one.name === name);
  const below = Object.keys(service?.depends_on ?? {}).flatMap((one) => [...findNeeded(one)]);
  return new Set([name, ...below]);
}
