/** A port for a server that a test starts as a process. @module */
import { once } from "node:events";
import { createServer } from "node:net";

/** A port that was free a moment ago with the `count - 1` after it, below the range of outgoing sockets. */
export async function findFreePort(count = 1): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const ports = Array.from({ length: count }, (_, index) => port + index);
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, "127.0.0.1");
  const isFree = await Promise.race([
    once(probe, "listening").then(() => true),
    once(probe, "error").then(() => false),
  ]);
  probe.close();
  return isFree;
}
