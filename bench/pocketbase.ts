/** PocketBase with the columns of the stage's table: a server whose database is in its process. @module */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "../test/support/free_port.ts";
import { type Lasting, prepareLoad, type Run } from "./load.ts";
import type { Scenario } from "./scenarios.ts";
import type { Server } from "./servers.ts";

const PASSWORD = "bench password";
const ADMINISTRATOR = "admin@example.com";
const USER = "user@example.com";
const RECORDS = "/api/collections/tasks/records";
/** PocketBase has no decimals. */
const COLLECTION = {
  name: "tasks",
  type: "base",
  createRule: '@request.auth.id != ""',
  fields: [
    { name: "title", type: "text", required: true },
    { name: "status", type: "select", values: ["open", "doing", "done"], required: true },
    { name: "done", type: "bool" },
    { name: "position", type: "number" },
    { name: "price", type: "text" },
    { name: "notes", type: "text" },
    { name: "due_at", type: "date" },
  ],
  indexes: ["create index tasks_status on tasks (status)"],
};

/**
 * Starts PocketBase's example program with an empty folder, and returns a run of creates by one signed-in user; `undefined` if the
 * program is not installed.
 */
export async function preparePocketbase(
  stack: AsyncDisposableStack,
  { http: { body = "" } }: Scenario,
  lasting: Lasting,
): Promise<(() => Promise<Run>) | undefined> {
  const program = Bun.which("base");
  if (program === null) return undefined;
  const parent = stack.adopt(mkdtempSync(join(tmpdir(), "rowhouse-pocketbase-")), (folder) =>
    rmSync(folder, { recursive: true }),
  );
  // The program also writes next to its folder.
  const folder = join(parent, "data");
  await Bun.$`${program} superuser upsert ${ADMINISTRATOR} ${PASSWORD} --dir ${folder}`.quiet();
  const server = stack.use(await start(program, folder));
  const administrator = await signIn(server, "_superusers", ADMINISTRATOR);
  await call(server, "/api/collections", COLLECTION, administrator);
  const account = { email: USER, password: PASSWORD, passwordConfirm: PASSWORD };
  await call(server, "/api/collections/users/records", account);
  const authorization = await signIn(server, "users", USER);
  const headers = { authorization, "content-type": "application/json" };
  const requests = [{ method: "POST" as const, path: RECORDS, headers, body }];
  const run = await prepareLoad({ server }, { status: 200, requests }, lasting);
  return async () => ({ ...(await run()), databaseCpu: 0 });
}

async function start(program: string, folder: string): Promise<Server> {
  const address = `127.0.0.1:${await findFreePort()}`;
  // In a temporary folder the program would log every statement.
  const flags = ["serve", "--http", address, "--dir", folder, "--dev=false"];
  const child = Bun.spawn([program, ...flags], { stdout: "ignore", stderr: "inherit" });
  const isUp = () =>
    fetch(`http://${address}/api/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`${program} ended before it listened`);
    await Bun.sleep(50);
  }
  return {
    url: `http://${address}`,
    pid: child.pid,
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await child.exited;
    },
  };
}

async function signIn(server: Server, collection: string, identity: string): Promise<string> {
  const path = `/api/collections/${collection}/auth-with-password`;
  const { token } = await call<{ token: string }>(server, path, { identity, password: PASSWORD });
  return token;
}

/** @throws {Error} PocketBase rejected the call */
async function call<Found>(
  { url }: Server,
  path: string,
  body: object,
  authorization = "",
): Promise<Found> {
  const headers = { authorization, "content-type": "application/json" };
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path} failed: ${response.status} ${await response.text()}`);
  return (await response.json()) as Found;
}
