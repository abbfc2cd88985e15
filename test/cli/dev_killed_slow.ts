/** A `dev` that is killed leaves no process running, and its acknowledged rows stay. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { makeProject, type Running, schemaText, startCommand } from "../support/command.ts";
import { callDev, startDev } from "../support/dev.ts";
import { eventually } from "../support/eventually.ts";
import { isFull } from "../support/tier.ts";

setDefaultTimeout(120_000);
/** Longer than the deadlines for both ordered shutdowns of a PostgreSQL that hangs. */
const HUNG_MS = 80_000;

const SCHEMA = { "schema/mod.ts": schemaText("{ todos: { title: t.string().required() } }") };
const projects: ReturnType<typeof makeProject>[] = [];

function openProject(): string {
  const project = makeProject(SCHEMA);
  projects.push(project);
  return project.folder;
}

afterEach(() => {
  for (const { folder, remove } of projects.splice(0)) {
    // Only after a failure.
    for (const { pid } of listProcesses(folder)) process.kill(pid, "SIGKILL");
    remove();
  }
});

const toDataDir = (folder: string) => join(folder, ".rowhouse/postgres");

type Process = { pid: number; args: string };
/** Processes of the project's PostgreSQL, without the processes of its sessions. */
function listProcesses(folder: string): Process[] {
  return Bun.spawnSync(["ps", "-eo", "pid,args"])
    .stdout.toString()
    .split("\n")
    .filter((args) => args.includes(toDataDir(folder)))
    .map((args) => ({ pid: Number.parseInt(args, 10), args }));
}

/** Its roles by what only its command line contains. */
const ROLES = {
  supervisor: "db/embedded/process.ts",
  watchdog: "rowhouse-watchdog",
  server: "bin/postgres -D",
};
type Role = keyof typeof ROLES;

const findPids = (folder: string, role: Role) =>
  listProcesses(folder)
    .filter(({ args }) => args.includes(ROLES[role]))
    .map(({ pid }) => pid);

function killAll(folder: string, victims: readonly ("dev" | Role)[], dev: Running): void {
  const pids = victims.flatMap((victim) =>
    victim === "dev" ? [dev.pid] : findPids(folder, victim),
  );
  expect(pids.length).toBe(victims.length);
  // Stopped first: one that runs would notice the end of another, and end the server.
  for (const signal of ["SIGSTOP", "SIGKILL"] as const)
    for (const pid of pids) process.kill(pid, signal);
}

async function untilNoneRuns(folder: string, patienceMs = 40_000): Promise<void> {
  const describe = () => JSON.stringify(listProcesses(folder));
  await eventually(() => listProcesses(folder).length === 0, { patienceMs, describe });
}

const MOMENTS = [
  { moment: "at its start", file: "." },
  { moment: "while the data folder is created", file: "making/base" },
  { moment: "while PostgreSQL starts", file: "cluster/postmaster.pid" },
];

/** One round meets each moment. Another one only varies the millisecond, as `dev_slow.ts` does, which kills four starts at four times. */
const ROUNDS = isFull() ? [1, 2] : [1];
test.each(MOMENTS.flatMap((row) => ROUNDS.map((round) => ({ ...row, round }))))(
  "a dev that is killed $moment leaves nothing, and the next dev serves ($round)",
  async ({ file }) => {
    const folder = openProject();
    const killed = startCommand(["dev", "--port", "0"], { folder });
    await eventually(() => existsSync(join(toDataDir(folder), file)), { describe: killed.output });
    process.kill(killed.pid, "SIGKILL");
    // At the same time as the end of the killed dev's PostgreSQL.
    const next = await startDev(folder);
    expect(await next.kill("SIGTERM")).toBe(0);
    await untilNoneRuns(folder);
  },
);

/** Creates rows in many requests until one fails, and adds the titles of acknowledged rows. */
async function writeUntilKilled(folder: string, acknowledged: string[]): Promise<void> {
  const write = async (writer: number) => {
    for (let number = 0; ; number++) {
      const title = `${writer}-${number}`;
      const created = callDev(folder, "/v1/data/db/todos", { title });
      const { status } = await created.catch(() => ({ status: 0 }));
      if (status !== 201) return;
      acknowledged.push(title);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)));
}

async function readTitles(folder: string): Promise<Set<string>> {
  const titles = new Set<string>();
  for (let hasMore = true; hasMore; ) {
    const path = `/v1/data/db/todos?limit=1000&offset=${titles.size}`;
    const { json } = await callDev(folder, path);
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
    const folder = openProject();
    const dev = await startDev(folder);
    const acknowledged: string[] = [];
    const writing = writeUntilKilled(folder, acknowledged);
    await eventually(() => acknowledged.length > 100);
    killAll(folder, victims, dev);
    await writing;
    await dev.ended;
    if (leaves.length === 0) await untilNoneRuns(folder);
    else {
      await Bun.sleep(2000);
      expect([findPids(folder, "server").length, listProcesses(folder).length]).toEqual([1, 1]);
    }
    const next = await startDev(folder);
    const stored = await readTitles(folder);
    expect(acknowledged.filter((title) => !stored.has(title))).toEqual([]);
    await next.kill("SIGTERM");
    await untilNoneRuns(folder);
  },
);

/** The processes of sessions, which the server waits for in a fast shutdown. */
function listSessions(folder: string): number[] {
  return Bun.spawnSync(["ps", "-o", "pid=,args=", "--ppid", `${findPids(folder, "server")}`])
    .stdout.toString()
    .split("\n")
    .filter((line) => line.includes("rowhouse_dev"))
    .map((line) => Number.parseInt(line, 10));
}

/** Ends of a PostgreSQL whose sessions hang. */
const HANGS: Readonly<Record<string, (folder: string, dev: Running) => void>> = {
  "a signal to stop": (_, dev) => process.kill(dev.pid, "SIGTERM"),
  "a kill": (folder, dev) => killAll(folder, ["dev"], dev),
  "a kill of everything that watches": (folder, dev) => killAll(folder, ["dev", "supervisor"], dev),
};

/** Together, because each waits for half a minute. */
test("a PostgreSQL that hangs ends after a signal, a kill, and a kill of everything that watches", async () => {
  const ends = Object.entries(HANGS).map(async ([how, end]) => {
    const folder = openProject();
    const dev = await startDev(folder);
    const sessions = listSessions(folder);
    expect([how, sessions.length > 0]).toEqual([how, true]);
    for (const session of sessions) process.kill(session, "SIGSTOP");
    end(folder, dev);
    await untilNoneRuns(folder, HUNG_MS);
    await dev.ended;
  });
  await Promise.all(ends);
});

test("the supervisor ends after SIGTERM, when its dev hangs", async () => {
  const folder = openProject();
  const dev = await startDev(folder);
  process.kill(dev.pid, "SIGSTOP");
  process.kill(findPids(folder, "supervisor")[0] ?? 0, "SIGTERM");
  await untilNoneRuns(folder, HUNG_MS);
  process.kill(dev.pid, "SIGKILL");
});
