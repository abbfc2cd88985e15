/** A `dev` that is killed leaves no process running, and its acknowledged rows stay. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { makeProject, type Running, schemaText, startCommand } from "../support/command.ts";
import { callDev, startDev } from "../support/dev.ts";
import { eventually } from "../support/eventually.ts";

setDefaultTimeout(120_000);
/** Longer than the deadlines for both ordered shutdowns of a PostgreSQL that hangs. */
const HUNG_MS = 80_000;

let project: ReturnType<typeof makeProject>;
beforeEach(() => {
  project = makeProject({
    "schema/mod.ts": schemaText("{ todos: { title: t.string().required() } }"),
  });
});
afterEach(() => {
  // Only after a failure.
  for (const { pid } of listProcesses()) process.kill(pid, "SIGKILL");
  project.remove();
});

const dataDir = () => join(project.folder, ".rowhouse/postgres");
const hasFile = (name: string) => existsSync(join(dataDir(), name));

type Process = { pid: number; args: string };
/** Processes of the project's PostgreSQL, without the processes of its sessions. */
function listProcesses(): Process[] {
  return Bun.spawnSync(["ps", "-eo", "pid,args"])
    .stdout.toString()
    .split("\n")
    .filter((args) => args.includes(dataDir()))
    .map((args) => ({ pid: Number.parseInt(args, 10), args }));
}

/** Its roles by what only its command line contains. */
const ROLES = {
  supervisor: "db/embedded/process.ts",
  watchdog: "rowhouse-watchdog",
  server: "bin/postgres -D",
};
type Role = keyof typeof ROLES;

function killAll(victims: readonly ("dev" | Role)[], dev: Running): void {
  const listed = listProcesses();
  const pids = victims.flatMap((victim) =>
    victim === "dev"
      ? [dev.pid]
      : listed.filter(({ args }) => args.includes(ROLES[victim])).map(({ pid }) => pid),
  );
  expect(pids.length).toBe(victims.length);
  // Stopped first: one that runs would notice the end of another, and end the server.
  for (const signal of ["SIGSTOP", "SIGKILL"] as const)
    for (const pid of pids) process.kill(pid, signal);
}

async function untilNoneRuns(patienceMs = 40_000): Promise<void> {
  const describe = () => JSON.stringify(listProcesses());
  await eventually(() => listProcesses().length === 0, { patienceMs, describe });
}

const MOMENTS = [
  { moment: "at its start", isReached: () => hasFile(".") },
  { moment: "while the data folder is created", isReached: () => hasFile("making/base") },
  { moment: "while PostgreSQL starts", isReached: () => hasFile("cluster/postmaster.pid") },
];

test.each(MOMENTS.flatMap((row) => [1, 2].map((round) => ({ ...row, round }))))(
  "a dev that is killed $moment leaves nothing, and the next dev serves ($round)",
  async ({ isReached }) => {
    const killed = startCommand(["dev", "--port", "0"], project);
    await eventually(isReached, { describe: killed.output });
    process.kill(killed.pid, "SIGKILL");
    // At the same time as the end of the killed dev's PostgreSQL.
    const next = await startDev(project.folder);
    expect(await next.kill("SIGTERM")).toBe(0);
    await untilNoneRuns();
  },
);

/** Creates rows in many requests until a request fails; returns the titles of acknowledged rows. */
async function writeUntilKilled(): Promise<string[]> {
  const acknowledged: string[] = [];
  const write = async (writer: number) => {
    for (let number = 0; ; number++) {
      const title = `${writer}-${number}`;
      const created = callDev(project.folder, "/v1/data/db/todos", { title });
      const { status } = await created.catch(() => ({ status: 0 }));
      if (status !== 201) return;
      acknowledged.push(title);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)));
  return acknowledged;
}

async function readTitles(): Promise<Set<string>> {
  const titles = new Set<string>();
  for (let hasMore = true; hasMore; ) {
    const path = `/v1/data/db/todos?limit=1000&offset=${titles.size}`;
    const { json } = await callDev(project.folder, path);
    const page = json as { rows: { title: string }[]; hasMore: boolean };
    for (const { title } of page.rows) titles.add(title);
    ({ hasMore } = page);
  }
  return titles;
}

const VICTIMS = [
  { victims: ["dev"], leaves: [] },
  { victims: ["supervisor"], leaves: [] },
  { victims: ["dev", "supervisor"], leaves: [] },
  { victims: ["dev", "watchdog"], leaves: [] },
  { victims: ["server"], leaves: [] },
  // As if the machine had lost everything else: the next start stops it.
  { victims: ["dev", "supervisor", "watchdog"], leaves: ["server"] },
] satisfies { victims: ("dev" | Role)[]; leaves: Role[] }[];

test.each(VICTIMS)(
  "acknowledged rows stay after a kill of $victims, which leaves $leaves",
  async ({ victims, leaves }) => {
    const dev = await startDev(project.folder);
    const writing = writeUntilKilled();
    await Bun.sleep(1000);
    killAll(victims, dev);
    const acknowledged = await writing;
    expect(acknowledged.length).toBeGreaterThan(8);
    await dev.ended;
    if (leaves.length === 0) await untilNoneRuns();
    else {
      await Bun.sleep(2000);
      expect(listProcesses().map(({ args }) => args.includes(ROLES.server))).toEqual([true]);
    }
    const next = await startDev(project.folder);
    const stored = await readTitles();
    expect(acknowledged.filter((title) => !stored.has(title))).toEqual([]);
    await next.kill("SIGTERM");
    await untilNoneRuns();
  },
);

/** The processes of sessions, which the server waits for in a fast shutdown. */
function listSessions(): number[] {
  const [server] = listProcesses().filter(({ args }) => args.includes(ROLES.server));
  return Bun.spawnSync(["ps", "-o", "pid=,args=", "--ppid", `${server?.pid}`])
    .stdout.toString()
    .split("\n")
    .filter((line) => line.includes("rowhouse_dev"))
    .map((line) => Number.parseInt(line, 10));
}

test.each([
  { how: "a signal to stop", victims: undefined },
  { how: "a kill", victims: ["dev"] as const },
  { how: "a kill of everything that watches", victims: ["dev", "supervisor"] as const },
])("a PostgreSQL that hangs ends after $how", async ({ victims }) => {
  const dev = await startDev(project.folder);
  const sessions = listSessions();
  expect(sessions.length).toBeGreaterThan(0);
  for (const session of sessions) process.kill(session, "SIGSTOP");
  if (victims === undefined) process.kill(dev.pid, "SIGTERM");
  else killAll(victims, dev);
  await untilNoneRuns(HUNG_MS);
  await dev.ended;
});

test("the supervisor ends after SIGTERM, when its dev hangs", async () => {
  const dev = await startDev(project.folder);
  process.kill(dev.pid, "SIGSTOP");
  const [supervisor] = listProcesses().filter(({ args }) => args.includes(ROLES.supervisor));
  process.kill(supervisor?.pid ?? 0, "SIGTERM");
  await untilNoneRuns(HUNG_MS);
  process.kill(dev.pid, "SIGKILL");
});
