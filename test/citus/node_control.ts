/** Kills, freezes, resumes, starts and restarts the cluster's nodes as processes of this machine. @module */
import { execFile, spawnSync } from "node:child_process";
import { existsSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { askNodes, type Database, SERVICE_QUEUE } from "../../src/db/mod.ts";

export type Node = { name: string; port: number; folder: string };

type Found = { nodes: Node[] } | { rejection: string };

/** Returns every worker, or the reason why this machine cannot control them. */
export async function findWorkers(admin: Database): Promise<Found> {
  const ports = await admin.query<{ name: string; port: number }>(
    `select nodename || ':' || nodeport as name, nodeport as port from pg_dist_node
    where groupid <> 0 and noderole = 'primary'`,
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  const responses = await askNodes(
    admin,
    "select json_build_array(current_setting('data_directory'), current_setting('synchronous_commit'))",
  );
  const nodes: Node[] = [];
  for (const { name, port } of ports) {
    const result = responses.find(({ node, success }) => success && node === name)?.result;
    if (result === undefined) return { rejection: `node ${name} does not respond` };
    const [folder, commit] = JSON.parse(result) as [string, string];
    const node = { name, port, folder };
    const rejection = findRejection(node, commit);
    if (rejection !== undefined) return { rejection };
    nodes.push(node);
  }
  return { nodes };
}

function findRejection(node: Node, commit: string): string | undefined {
  const { name, port, folder } = node;
  if (!existsSync(join(folder, "postmaster.pid")))
    return `the data folder of node ${name}, ${folder}, is not on this machine`;
  const [pid = "", , , listens = ""] = readPidFile(node);
  if (Number(listens) !== port || !existsSync(`/proc/${pid}/exe`))
    return `the server of node ${name} does not run on this machine`;
  if (commit === "off")
    return `node ${name} can lose acknowledged writes: synchronous_commit is off`;
  return undefined;
}

function readPidFile({ folder }: Node): string[] {
  return readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n");
}

/** Returns the server's current process and its children. */
function findProcesses(node: Node): number[] {
  const postmaster = Number(readPidFile(node)[0]);
  const { stdout } = spawnSync("pgrep", ["-P", String(postmaster)], { encoding: "utf8" });
  return [postmaster, ...stdout.trim().split("\n").filter(Boolean).map(Number)];
}

function send(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // The child has ended since it was listed.
      if (Object(error).code !== "ESRCH") throw error;
    }
  }
}

/** Signals twice, because the first round can miss children that are starting. */
export function freeze(node: Node): void {
  send(findProcesses(node), "SIGSTOP");
  send(findProcesses(node), "SIGSTOP");
}

export function thaw(node: Node): void {
  send(findProcesses(node).reverse(), "SIGCONT");
}

/** Kills the server like a power failure. Returns a function that starts it again. */
export function kill(node: Node): { start: () => Promise<void> } {
  const tools = findTools(node);
  const pids = findProcesses(node);
  send(pids.slice(0, 1), "SIGSTOP");
  send(findProcesses(node), "SIGKILL");
  return { start: () => run(node, tools) };
}

export async function restart(node: Node): Promise<void> {
  await run(node, findTools(node));
}

type Tools = { programs: string; log: string; env: NodeJS.ProcessEnv };

/** Reads the folder of the server's programs, its log and its environment from its process. */
function findTools(node: Node): Tools {
  const [pid] = findProcesses(node);
  const log = readlinkSync(`/proc/${pid}/fd/2`);
  const lines = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").filter(Boolean);
  return {
    env: Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2))),
    programs: dirname(readlinkSync(`/proc/${pid}/exe`)),
    log: log.startsWith("/") ? log : "/dev/null",
  };
}

/** Restarts the server under its account, or starts it if it does not run. */
async function run({ folder }: Node, { programs, log, env }: Tools): Promise<void> {
  const flags = ["restart", "-m", "fast", "-w", "-t", "60", "-D", folder, "-l", log];
  const { uid, gid } = statSync(folder);
  const account = process.getuid?.() === 0 ? { uid, gid } : {};
  await promisify(execFile)(join(programs, "pg_ctl"), flags, { ...account, env, cwd: folder });
}
