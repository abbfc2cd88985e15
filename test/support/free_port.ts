/** Ports for servers that a test starts as processes. @module */
import { isFreePort } from "../../src/db/embedded/server.ts";

/** Below the range of outgoing sockets. Each worker of a run has its own range. */
const FIRST = 20_000;
const PORTS_PER_WORKER = 3000;
const RANGES = 4;

/** Returned before. Its server may not listen yet. */
const reserved = new Set<number>();

/** Returns the first of `count` consecutive ports that are free. */
export async function findFreePort(count = 1): Promise<number> {
  const start =
    FIRST + PORTS_PER_WORKER * (Number(process.env["BUN_TEST_WORKER_ID"] ?? 0) % RANGES);
  for (;;) {
    const port = start + Math.floor(Math.random() * (PORTS_PER_WORKER - count));
    const ports = Array.from({ length: count }, (_, index) => port + index);
    if (ports.some((candidate) => reserved.has(candidate))) continue;
    if (!(await Promise.all(ports.map(isFreePort))).every(Boolean)) continue;
    for (const candidate of ports) reserved.add(candidate);
    return port;
  }
}
