/** CPU time of processes, from Linux's /proc. On other systems `undefined`. @module */
import { readdirSync, readFileSync } from "node:fs";

/** CPU seconds per thousand requests. */
export type Cpu = { serverCpu?: number | undefined; databaseCpu?: number | undefined };

/** Clock ticks per second, which is 100 on every Linux that Bun runs on. */
const TICKS = 100;

/** Returns the CPU seconds of a server and a database so far. */
export function readCpu(server: number, postmaster: number | undefined) {
  return { server: readTimes(server)?.own, database: familySeconds(postmaster) };
}

/** Starts a measurement. The returned function ends it, given the number of requests. */
export function countCpu(server: number | undefined, postmaster: number | undefined) {
  const read = () => [readTimes(server)?.own, familySeconds(postmaster)] as const;
  const [serverBefore, databaseBefore] = read();
  return (count: number): Cpu => {
    const perThousand = (before: number | undefined, after: number | undefined) =>
      before === undefined || after === undefined ? undefined : ((after - before) / count) * 1000;
    const [server, database] = read();
    return {
      serverCpu: perThousand(serverBefore, server),
      databaseCpu: perThousand(databaseBefore, database),
    };
  };
}

export function parentOf(pid: number): number | undefined {
  return readTimes(pid)?.parent;
}

/** Returns the CPU seconds of a process with its children, including ended children: a whole PostgreSQL by its postmaster. */
function familySeconds(pid: number | undefined): number | undefined {
  const parent = readTimes(pid);
  if (parent === undefined) return undefined;
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(readTimes)
    .filter((times) => times?.parent === pid);
  // The times of a child that ends during the reading are in neither number, so read again.
  if (readTimes(pid)?.reaped !== parent.reaped) return familySeconds(pid);
  return children.reduce((sum, times) => sum + (times?.own ?? 0), parent.own + parent.reaped);
}

function readTimes(pid: number | string | undefined) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name can contain spaces and parentheses, so the fields after it are counted.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [user = 0, system = 0, reapedUser = 0, reapedSystem = 0] = fields
      .slice(11, 15)
      .map((ticks) => Number(ticks) / TICKS);
    return { parent: Number(fields[1]), own: user + system, reaped: reapedUser + reapedSystem };
  } catch {
    return undefined; // no /proc, or the process has ended
  }
}
