/**
 * A limit on the sockets of a process. `Bun.serve` has none: it accepts callers until there are no descriptors left, and then
 * neither the port for operators nor the pools get one. So the open descriptors are counted ten times a second, and at the
 * limit the port accepts no callers until there is room again. If the system does not say how many are open, there is no
 * limit.
 *
 * @module
 */
import { closeSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import type { Log } from "../../observe.ts";
import type { Listener } from "./listener.ts";

const LOOK_INTERVAL_MS = 100;
/** The part of the system's limit that callers may use: the rest is for operators, pools and files. */
const SHARE = 0.8;
/** Callers are accepted again when this part of the limit is free. */
const ROOM = 0.2;
/** Descriptors in reserve, released when callers were faster than the count. */
const SPARES = 16;

export type SocketOptions = { log: Log; maxSockets: number | undefined };

/** Limits the sockets from now on, until the returned function is called. */
export function boundSockets(
  listener: Pick<Listener, "pause" | "resume">,
  { log, maxSockets = Infinity }: SocketOptions,
): () => void {
  const own = countOpen();
  const limit = readOpenLimit();
  if (own === undefined || limit === undefined) return () => undefined;
  const maxOpen = Math.min(maxSockets, Math.floor((limit - own) * SHARE));
  let spares = openSpares();
  let isPaused = false;
  const look = (): void => {
    // If none is left for counting, all are in use.
    const sockets = (countOpen() ?? limit) - own - spares.length;
    if (!isPaused && sockets >= maxOpen) {
      isPaused = true;
      for (const spare of spares) closeSync(spare);
      spares = [];
      listener.pause();
      log("error", "too many sockets", {
        message: `${sockets} are open, and ${maxOpen} may be: new connections are refused until a fifth is free`,
      });
    } else if (isPaused && sockets <= maxOpen * (1 - ROOM) && resume(listener)) {
      spares = openSpares();
      isPaused = false;
      log("info", "room for sockets again");
    }
  };
  const timer = setInterval(look, LOOK_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    for (const spare of spares) closeSync(spare);
  };
}

/** Whether callers are accepted again; if the port cannot be opened, the next look tries again. */
function resume(listener: Pick<Listener, "resume">): boolean {
  try {
    listener.resume();
    return true;
  } catch {
    return false;
  }
}

function openSpares(): number[] {
  return Array.from({ length: SPARES }, () => openSync("/dev/null", "r"));
}

const DESCRIPTORS = "/proc/self/fd";

/** How many descriptors the process has open; since Linux 6.2 this is the folder's size, so that reading it needs none. */
function countOpen(): number | undefined {
  try {
    return statSync(DESCRIPTORS).size || readdirSync(DESCRIPTORS).length;
  } catch {
    return undefined; // not Linux
  }
}

/** How many the process may have open. */
function readOpenLimit(): number | undefined {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined; // not Linux
  }
}
