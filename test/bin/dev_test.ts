import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import {
  makeProject,
  type Running,
  runCommand,
  schemaText,
  startCommand,
} from "../support/command.ts";
import { eventually } from "../support/eventually.ts";

const TODOS = "{ todos: { title: t.string().required() } }";
const LIMIT_MS = 60_000;

let project: ReturnType<typeof makeProject>;
beforeAll(() => {
  project = makeProject({ "schema/mod.ts": schemaText(TODOS) });
});
afterAll(() => project.remove());

const devFile = () => join(project.folder, ".rowhouse/dev.json");
const readDev = () => JSON.parse(readFileSync(devFile(), "utf8")) as Record<string, string>;

async function startDev(folder = project.folder): Promise<Running> {
  const dev = startCommand(["dev", "--port", "0"], { folder });
  await dev.until(/Ctrl-C stops everything/);
  return dev;
}

/** Runs a line that `dev` printed, as a person would paste it. */
async function paste(dev: Running, title: string): Promise<unknown> {
  const [, line = ""] = dev.output().match(new RegExp(`${title}:\n  (curl .*)`)) ?? [];
  const shell = Bun.spawn(["sh", "-c", line], { stdout: "pipe" });
  return JSON.parse(await new Response(shell.stdout).text());
}

const processesOf = (folder: string) =>
  Bun.spawnSync(["ps", "-eo", "args"])
    .stdout.toString()
    .split("\n")
    .filter((line) => line.includes(folder));

test(
  "the tour: pasted commands work, edits are pushed, faults are shown, Ctrl-C leaves nothing behind",
  async () => {
    const dev = await startDev();
    const created = await paste(dev, "Create a row");
    expect(created).toMatchObject({ title: "Milk" });
    expect(await paste(dev, "List the rows")).toMatchObject({ rows: [created] });
    expect(statSync(devFile()).mode & 0o777).toBe(0o600);
    expect(Object.keys(readDev())).toEqual([
      "baseUrl",
      "gatewayUrl",
      "identityUrl",
      "app",
      "apiKey",
      "databaseUrl",
      "identitySecrets",
      "admin",
      "user",
    ]);
    expect(dev.output()).not.toContain(readDev()["databaseUrl"] ?? "");

    project.write("schema/mod.ts", schemaText("{ todos: { title: t.strin() } }"));
    await dev.until(/t\.strin is not a function/);
    expect(await paste(dev, "List the rows")).toMatchObject({ rows: [created] });
    project.write("schema/mod.ts", schemaText(TODOS.replace("}", ", done: t.boolean() }")));
    await dev.until(/add column todos\.done/);
    expect(await paste(dev, "List the rows")).toMatchObject({ rows: [{ done: null }] });

    const second = await runCommand(["dev"], project);
    expect(second.err).toContain(`it runs at ${readDev()["baseUrl"]}`);
    expect(second.code).toBe(1);

    const listed = await runCommand(["admin", "list-apps", "--json"], project);
    expect(JSON.parse(listed.out)).toMatchObject({ apps: [{ slug: "todo" }] });
    expect((await runCommand(["db", "check"], project)).code).toBe(0);

    const health = await runCommand(["health"], project);
    expect(health.out).toBe(`${readDev()["baseUrl"]}/live is alive\n`);
    expect((await runCommand(["migrate"], project)).out).toBe("Nothing to apply\n");

    expect(await dev.kill("SIGINT")).toBe(0);
    expect(existsSync(devFile())).toBe(false);
    expect(processesOf(project.folder)).toEqual([]);
  },
  LIMIT_MS,
);

test(
  "after kill -9 the next start just works, with the same key and the same rows",
  async () => {
    const killed = await startDev();
    const { apiKey } = readDev();
    await paste(killed, "Create a row");
    const before = await paste(killed, "List the rows");
    await killed.kill("SIGKILL");
    expect(existsSync(devFile())).toBe(true);
    const dev = await startDev();
    expect(readDev()["apiKey"]).toBe(apiKey);
    expect(await paste(dev, "List the rows")).toEqual(before);
    await dev.kill("SIGKILL");
    await eventually(() => processesOf(project.folder).length === 0);
  },
  LIMIT_MS,
);

test(
  "a role that an administrator took away from its person stays away",
  async () => {
    const roles = async () =>
      await withDatabase(readDev()["databaseUrl"] ?? "", (database) =>
        database.query("select role from rowhouse.grants", [], {
          retry: "safe",
          queue: SERVICE_QUEUE,
        }),
      );
    const first = await startDev();
    expect(await roles()).toEqual([{ role: "member" }]);
    const words = ["admin", "revoke", "person@rowhouse.localhost", "todo"];
    expect((await runCommand(words, project)).code).toBe(0);
    await first.kill("SIGTERM");
    const second = await startDev();
    expect(await roles()).toEqual([]);
    await second.kill("SIGTERM");
  },
  LIMIT_MS,
);

test(
  "it ends with a word when its database has died",
  async () => {
    const dev = await startDev();
    const [server] = await withDatabase(readDev()["databaseUrl"] ?? "", (database) =>
      database.query<{ folder: string }>("select current_setting('data_directory') as folder", [], {
        retry: "safe",
        queue: SERVICE_QUEUE,
      }),
    );
    const file = join(server?.folder ?? "", "postmaster.pid");
    process.kill(Number(readFileSync(file, "utf8").split("\n")[0]), "SIGKILL");
    await dev.until(/The embedded PostgreSQL has stopped: start rowhouse dev again/);
    await eventually(() => processesOf(project.folder).length === 0);
  },
  LIMIT_MS,
);

test(
  "over a database of another baseline it names the command that starts over",
  async () => {
    const other = makeProject({ "schema/mod.ts": schemaText(TODOS) });
    const first = await startDev(other.folder);
    const file = JSON.parse(readFileSync(join(other.folder, ".rowhouse/dev.json"), "utf8"));
    await withDatabase((file as { databaseUrl: string }).databaseUrl, (database) =>
      database.message("update rowhouse.service_migrations set checksum = 'sha256:0'; select 1"),
    );
    expect(await first.kill("SIGTERM")).toBe(0);
    const second = await runCommand(["dev", "--port", "0"], other);
    expect(second).toEqual({
      code: 1,
      out: "",
      err: "The database in .rowhouse/postgres was set up by another release of Rowhouse and cannot be upgraded by this one: run rowhouse dev --reset to delete it and start over\n",
    });
    expect(processesOf(other.folder)).toEqual([]);
    const third = startCommand(["dev", "--port", "0", "--reset", "--yes"], other);
    await third.until(/Ctrl-C stops everything/);
    expect(await third.kill("SIGTERM")).toBe(0);
    other.remove();
  },
  LIMIT_MS,
);

test(
  "it runs in a folder that only its owner may enter",
  async () => {
    const closed = makeProject({ "schema/mod.ts": schemaText(TODOS) });
    chmodSync(closed.folder, 0o700);
    const dev = await startDev(closed.folder);
    expect(await paste(dev, "Create a row")).toMatchObject({ title: "Milk" });
    const [data] = processesOf("/postgres -D ").flatMap(
      (line) => line.match(/-D (\/var\/tmp\/rowhouse-data-\w+)/)?.[1] ?? [],
    );
    expect(await dev.kill("SIGTERM")).toBe(0);
    closed.remove();
    if (data !== undefined) rmSync(data, { recursive: true, force: true });
  },
  LIMIT_MS,
);

test("a folder that holds something else is never taken for the database", async () => {
  const other = makeProject({ "data/letter.txt": "dear" });
  const { code, err } = await runCommand(["dev", "--port", "0", "--data-dir", "data"], other);
  expect(err).toContain("holds something else: name an empty or a new folder");
  expect(code).toBe(1);
  expect(readFileSync(join(other.folder, "data/letter.txt"), "utf8")).toBe("dear");
  other.remove();
});
