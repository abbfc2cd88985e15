/**
 * Runs the split shape of compose.yaml as plain processes with the settings in the file: logins, pooler, one-shots and
 * services. Ports replace the host names of a container engine.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { COMPOSE as VARIABLES } from "../../tools/generated.ts";
import {
  makeProject,
  type Running,
  runCommand,
  type Settings,
  schemaText,
  startCommand,
} from "../support/command.ts";
import { fillIn, runInitLogins, SERVICES } from "../support/compose.ts";
import {
  type DebianCluster,
  hasDebianPostgres,
  runTool,
  startDebianCluster,
} from "../support/debian_cluster.ts";
import { PGBOUNCER, type Pooler, startPooler } from "../support/pgbouncer.ts";

const PASSWORDS = Object.fromEntries(
  Object.keys(VARIABLES).map((name) => [name, crypto.randomUUID()]),
);
const VALUES = {
  ...PASSWORDS,
  INTERNAL_HMAC_SECRET_DATA: crypto.randomUUID(),
  INTERNAL_HMAC_SECRET_IDENTITY: crypto.randomUUID(),
  IDENTITY_SECRET: crypto.randomUUID(),
  COOKIE_DOMAIN: "example.org",
  IDENTITY_URL: "https://id.example.org",
};
const LIST = "/v1/data/db/todos";

let cluster: DebianCluster;
let pooler: Pooler;
let project: ReturnType<typeof makeProject>;
const running: Running[] = [];
const ports: Record<string, string> = {};

describe.skipIf(!hasDebianPostgres || PGBOUNCER === null)("compose.yaml's split shape", () => {
  beforeAll(async () => {
    project = makeProject({
      "schema/mod.ts": schemaText("{ todos: { title: t.string().required() } }"),
    });
    cluster = await startDebianCluster({ password: PASSWORDS["SUPERUSER_PASSWORD"] ?? "" });
    const parts = new URL(cluster.url);
    // The image does the same with POSTGRES_DB.
    runTool("psql", ["-c", "create database rowhouse", cluster.url]);
    parts.pathname = "/rowhouse";
    runInitLogins({ ...cluster, url: parts.href }, PASSWORDS);
    const {
      AUTH_USER: user = "",
      AUTH_QUERY: query = "",
      DB_PASSWORD: password = "",
    } = settingsOf("pooler");
    pooler = await startPooler(parts.href, {
      poolSize: Number(settingsOf("pooler")["DEFAULT_POOL_SIZE"]),
      clients: Number(settingsOf("pooler")["MAX_CLIENT_CONN"]),
      users: { [user]: password },
      ask: { user, query },
    });
  }, 60_000);
  afterAll(async () => {
    await Promise.all(running.map((child) => child.kill("SIGTERM")));
    await pooler?.close();
    await cluster?.stop();
    project?.remove();
  });

  const settingsOf = (name: string): Settings =>
    fillIn(SERVICES.find((service) => service.name === name)?.environment ?? {}, VALUES);
  /** Returns a service's settings with local addresses in place of service names. */
  const makeSettings = (name: string): Settings => {
    const toLocal = (value: string) =>
      value
        .replace("@pooler:5432", `@${new URL(pooler.toUrl(cluster.url)).host}`)
        .replace("@postgres:5432", `@${new URL(cluster.url).host}`)
        .replace(
          /http:\/\/(data|identity):8787/,
          (_, service) => `http://127.0.0.1:${ports[service] ?? (service === "data" ? 1 : 2)}`,
        );
    const entries = Object.entries(settingsOf(name)).map(([key, value]) => [key, toLocal(value)]);
    // Debian's PgBouncer is older than the image's PgBouncer.
    return {
      ...Object.fromEntries(entries),
      DATABASE_PREPARE: "off",
      HOST: "127.0.0.1",
      PORT: "0",
    };
  };
  const start = async (name: string) => {
    const command = SERVICES.find((service) => service.name === name)?.command ?? ["serve"];
    const started = startCommand(command, { ...project, env: makeSettings(name) });
    running.push(started);
    [, ports[name] = ""] = await started.until(/"event":"listening".*"port":(\d+)/);
  };
  const operate = async (...args: string[]) => {
    const { ADMIN_DATABASE_URL = "" } = makeSettings("migrate-data");
    const done = await runCommand(args, { ...project, env: { ADMIN_DATABASE_URL } });
    expect([done.code, done.err]).toEqual([0, ""]);
    return done.out.trim();
  };

  test("the one-shot services grant each login its role, and can run again", async () => {
    const names = ["migrate-gateway", "migrate-data", "migrate-identity"];
    for (const _ of [1, 2])
      for (const name of names) {
        const ran = await runCommand(["migrate"], { ...project, env: makeSettings(name) });
        const login = new URL(makeSettings(name)["DATABASE_URL"] ?? "").username;
        expect(ran).toMatchObject({ code: 0, err: "" });
        expect(ran.out).toContain(`The role "${login}" can serve\n`);
      }
  });

  test("the services start, and a push, a row and a sign-in go through the gateway", async () => {
    await start("data");
    await start("identity");
    await start("gateway");
    const gateway = `http://127.0.0.1:${ports["gateway"]}`;
    await operate("admin", "create-app", "shop");
    const key = await operate(
      "admin",
      "issue-key",
      "shop",
      "--scope",
      "data:read,data:write,schema:push",
    );
    const env = { ROWHOUSE_API_KEY: key, ROWHOUSE_URL: gateway };
    // rowhouse_push_login pushes; it is not an administrator.
    expect(await runCommand(["db", "push"], { ...project, env })).toMatchObject({
      code: 0,
      err: "",
    });
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const body = JSON.stringify({ title: "Milk" });
    const created = await fetch(gateway + LIST, { method: "POST", headers, body });
    expect([created.status, await created.json()]).toMatchObject([201, { title: "Milk" }]);
    expect((await fetch(`${gateway}/v1/auth/me`)).status).toBe(401);
    expect((await fetch(`${gateway}/ready`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${ports["data"]}${LIST}`, { headers })).status).toBe(401);
  }, 60_000);

  test.each([
    { name: "gateway", table: "rowhouse.sessions" },
    { name: "gateway", table: "data.todos" },
    { name: "data", table: "rowhouse.api_keys" },
    { name: "data", table: "rowhouse.users" },
    { name: "data", table: "data.todos" },
    { name: "identity", table: "rowhouse.api_keys" },
    { name: "identity", table: "data.todos" },
  ])("the login of $name cannot read $table", ({ name, table }) => {
    const url = makeSettings(name)["DATABASE_URL"] ?? "";
    const direct = new URL(url);
    direct.host = new URL(cluster.url).host;
    expect(() => runTool("psql", ["-c", `select * from ${table}`, direct.href])).toThrow(
      "permission denied",
    );
  });

  test("no process connects as a superuser", () => {
    const superusers = "select rolname from pg_catalog.pg_roles where rolsuper";
    const { ADMIN_DATABASE_URL = "" } = makeSettings("migrate-data");
    expect(runTool("psql", ["-XAtc", superusers, ADMIN_DATABASE_URL]).trim()).toBe("postgres");
    const connected = SERVICES.flatMap(({ name }) => Object.values(settingsOf(name)))
      .filter((value) => value.startsWith("postgres://"))
      .map((url) => new URL(url).username);
    expect(connected).not.toContain("postgres");
    expect(connected).toContain("rowhouse_admin");
  });

  test.each(["gateway", "data", "identity"])(
    "the login of %s has limited connections and temporary files",
    (name) => {
      const url = new URL(makeSettings(name)["DATABASE_URL"] ?? "");
      url.host = new URL(cluster.url).host;
      const limits = `select rolconnlimit, current_setting('temp_file_limit')
        from pg_catalog.pg_roles where rolname = current_user`;
      expect(runTool("psql", ["-XAtc", limits, url.href]).trim()).toBe("30|256MB");
    },
  );

  test.each([
    { login: "gateway", text: "select pg_advisory_lock(1)" },
    { login: "gateway", text: "select pg_try_advisory_xact_lock_shared(1, 2)" },
    { login: "data", text: "select lo_from_bytea(0, 'x')" },
    { login: "identity", text: "select lo_create(0)" },
  ])("the login of $login cannot $text", ({ login, text }) => {
    const url = new URL(makeSettings(login)["DATABASE_URL"] ?? "");
    url.host = new URL(cluster.url).host;
    expect(() => runTool("psql", ["-c", text, url.href])).toThrow("permission denied for function");
  });

  test.each([
    "select email from rowhouse.users",
    "select * from rowhouse.api_keys",
    "select * from rowhouse.sessions",
    "delete from rowhouse.tables",
    "create role mine",
    "alter role rowhouse_push_login superuser",
    "select * from pg_catalog.pg_authid",
    "alter system set fsync = off",
    "create database mine",
  ])("the pushing login cannot %s", (text) => {
    const url = makeSettings("data")["ADMIN_DATABASE_URL"] ?? "";
    expect(() => runTool("psql", ["-c", text, url])).toThrow(/permission denied|must be superuser/);
  });
});
