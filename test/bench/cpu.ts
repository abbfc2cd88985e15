/** CPU time and memory of processes, as Linux tells them in /proc; elsewhere `undefined`. @module */
import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks a second, which is 100 on every Linux that Bun runs on. */
const TICKS = 100;

type Times = { parent: number; own: number; reaped: number };

function readTimes(pid: number | string): Times | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name may hold spaces and parentheses: fields are counted from its end.
    const fields = text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const [user = 0, system = 0, reapedUser = 0, reapedSystem = 0] = fields.slice(11, 15);
    return {
      parent: fields[1] ?? 0,
      own: (user + system) / TICKS,
      reaped: (reapedUser + reapedSystem) / TICKS,
    };
  } catch {
    return undefined; // no /proc, or the process has ended
  }
}

/** CPU seconds of one process. */
export function processSeconds(pid: number): number | undefined {
  return readTimes(pid)?.own;
}

/** CPU seconds of a process, of its children, and of those that have ended: a whole PostgreSQL by its postmaster. */
export function familySeconds(pid: number): number | undefined {
  const parent = readTimes(pid);
  if (parent === undefined) return undefined;
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(readTimes)
    .filter((times) => times?.parent === pid);
  return children.reduce((sum, times) => sum + (times?.own ?? 0), parent.own + parent.reaped);
}

/** The parent of a process. */
export function parentOf(pid: number): number | undefined {
  return readTimes(pid)?.parent;
}

/** Resident memory in MB: now, and the most it ever was. */
export function residentMb(pid: number): { now: number; most: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, "utf8");
    const read = (name: string) =>
      Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(text)?.[1]) / 1024;
    return { now: read("VmRSS"), most: read("VmHWM") };
  } catch {
    return undefined;
  }
}
