/**
 * A limit on the sockets of a process. `Bun.serve` has no limit: it accepts connections until no descriptors are left, and then the
 * port for operators and the pools cannot open any. So the open descriptors are counted ten times a second, and at the limit the port
 * pauses until enough are free. There is no limit if the system does not report open descriptors.
 *
 * @module
 */
import { closeSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import type { Log } from "../observe.ts";
import type { Listener } from "./port.ts";

const CHECK_INTERVAL_MS = 100;
/** The share of the system's limit for clients. The rest is for operators, pools and files. */
const SHARE = 0.8;
/** New connections are accepted again when this share of the limit is free. */
const MIN_FREE_SHARE = 0.2;
/** Reserved descriptors, released if connections arrive faster than they are counted. */
const SPARES = 16;

/** Limits the sockets from now on, until the returned function is called. */
export function boundSockets(listener: Pick<Listener, "pause" | "resume">, log: Log): () => void {
  const own = countOpen();
  const limit = readOpenLimit();
  if (own === undefined || limit === undefined) return () => undefined;
  const maxOpen = Math.floor((limit - own) * SHARE);
  let spares = openSpares();
  let isPaused = false;
  const check = (): void => {
    // If no descriptor is left for counting, all are in use.
    const sockets = (countOpen() ?? limit) - own - spares.length;
    if (!isPaused && sockets >= maxOpen) {
      isPaused = true;
      for (const spare of spares) closeSync(spare);
      spares = [];
      listener.pause();
      log("error", "too many sockets", {
        message: `${sockets} sockets are open, max ${maxOpen}: new connections are rejected until 20% are free`,
      });
    } else if (isPaused && sockets <= maxOpen * (1 - MIN_FREE_SHARE) && resume(listener)) {
      spares = openSpares();
      isPaused = false;
      log("info", "sockets accepted again");
    }
  };
  const timer = setInterval(check, CHECK_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    for (const spare of spares) closeSync(spare);
  };
}

/** Whether connections are accepted again. If the port cannot be opened, the next check retries. */
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

/** The number of open descriptors. Since Linux 6.2 it is the folder's size, and reading it requires no descriptor. */
function countOpen(): number | undefined {
  try {
    return statSync(DESCRIPTORS).size || readdirSync(DESCRIPTORS).length;
  } catch {
    return undefined; // not Linux
  }
}

/** The max number of open descriptors. */
function readOpenLimit(): number | undefined {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined; // not Linux
  }
}
