/** A port for a server that a test starts as a process. @module */
import { isFreePort } from "../../src/db/embedded/server.ts";

/** Below the range of outgoing sockets, and for each worker of a run one that no other takes from. */
const FIRST = 20_000;
const EACH = 3000;
const RANGES = 4;

/** Given before, perhaps to a server that is not there yet. */
const given = new Set<number>();

/** A port that was free a moment ago with the `count - 1` after it. */
export async function findFreePort(count = 1): Promise<number> {
  const start = FIRST + EACH * (Number(process.env["BUN_TEST_WORKER_ID"] ?? 0) % RANGES);
  for (;;) {
    const port = start + Math.floor(Math.random() * (EACH - count));
    const ports = Array.from({ length: count }, (_, index) => port + index);
    if (ports.some((one) => given.has(one))) continue;
    if (!(await Promise.all(ports.map(isFreePort))).every(Boolean)) continue;
    for (const one of ports) given.add(one);
    return port;
  }
}
