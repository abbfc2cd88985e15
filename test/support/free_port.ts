/** A port for a server that a test starts as a process. @module */
import { once } from "node:events";
import { createServer } from "node:net";

/** A port that was free a moment ago, below the range that outgoing sockets take theirs from. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const probe = createServer().listen(port, "127.0.0.1");
    const isFree = await Promise.race([
      once(probe, "listening").then(() => true),
      once(probe, "error").then(() => false),
    ]);
    probe.close();
    if (isFree) return port;
  }
}
