/**
 * The CPU time of each test file: its process with all child processes, and the server. Runs the files one after the other on
 * one server, so load on the machine does not change the figures much. Linux only.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { readRows } from "../src/db/mod.ts";
import { startEmbedded } from "./ci/servers.ts";
import { withDatabase } from "./support/cluster.ts";

/** Clock ticks of `/proc` per second, on every Linux that Bun supports. */
const TICKS_PER_S = 100;

type Cost = { file: string; testsS: number; serverS: number };

/** Runs the files and prints the most expensive first. Returns whether all passed. */
export async function profile(
  files: readonly string[],
  { command, env }: { command: readonly string[]; env: Readonly<Record<string, string>> },
): Promise<boolean> {
  const server = await startEmbedded();
  const costs: Cost[] = [];
  const failed: string[] = [];
  try {
    const postmaster = await findPostmaster(server.env["ADMIN_DATABASE_URL"] ?? "");
    for (const file of files) {
      const before = readServerS(postmaster);
      const child = Bun.spawn([...command, file], {
        env: { ...process.env, ...env, ...server.env },
        stdio: ["ignore", "ignore", "ignore"],
      });
      if ((await child.exited) !== 0) failed.push(file);
      const { user = 0n, system = 0n } = child.resourceUsage()?.cpuTime ?? {};
      const testsS = Number(BigInt(user) + BigInt(system)) / 1e6;
      costs.push({ file, testsS, serverS: readServerS(postmaster) - before });
    }
  } finally {
    await server.stop();
  }
  console.log(renderCosts(costs));
  for (const file of failed) console.log(`failed: ${file}`);
  return failed.length === 0;
}

function renderCosts(costs: readonly Cost[]): string {
  const toTotal = ({ testsS, serverS }: Cost) => testsS + serverS;
  const line = (file: string, ...seconds: number[]) =>
    [...seconds.map((value) => value.toFixed(1).padStart(8)), ` ${file}`].join("");
  const sum = (read: (cost: Cost) => number) => costs.reduce((all, cost) => all + read(cost), 0);
  return [
    "CPU seconds of each file: all, tests, server",
    ...costs
      .toSorted((a, b) => toTotal(b) - toTotal(a))
      .map((cost) => line(cost.file, toTotal(cost), cost.testsS, cost.serverS)),
    line(
      "all files",
      sum(toTotal),
      sum((cost) => cost.testsS),
      sum((cost) => cost.serverS),
    ),
  ].join("\n");
}

async function findPostmaster(url: string): Promise<number> {
  const [row] = await withDatabase(url, (admin) =>
    readRows<{ text: string }>(admin, "select pg_read_file('postmaster.pid') as text"),
  );
  return Number.parseInt(row?.text ?? "", 10);
}

/** The CPU seconds of the server: its first process, its ended children, and its living children. */
function readServerS(postmaster: number): number {
  let ticks = 0;
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const fields = readStat(name);
    const isPostmaster = Number(name) === postmaster;
    if (!isPostmaster && Number(fields[1]) !== postmaster) continue;
    const times = fields.slice(11, isPostmaster ? 15 : 13);
    ticks += times.reduce((sum, value) => sum + Number(value), 0);
  }
  return ticks / TICKS_PER_S;
}

/** The fields after a process's name, which can contain spaces; none if it has ended. */
function readStat(name: string): string[] {
  try {
    const text = readFileSync(`/proc/${name}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}
