/**
 * A bound on the sockets of a process. `Bun.serve` has none: it takes callers until the system gives it no more
 * descriptors, and then neither the port for operators nor the pools get one. So what the process has open is counted
 * ten times a second, and at the bound its port takes no callers until there is room again. Where the system does not
 * tell how much is open, nothing is bound.
 *
 * @module
 */
import { closeSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import type { Log } from "../../observe.ts";
import type { Listener } from "./listener.ts";

const LOOK_INTERVAL_MS = 100;
/** The part of what the system allows that callers may have: the rest is for operators, pools and files. */
const SHARE = 0.8;
/** Callers are taken again when so much of the bound is free. */
const ROOM = 0.2;
/** Descriptors kept for the moment when callers were faster than the count: given back to the process there. */
const SPARES = 16;

export type SocketOptions = { log: Log; maxSockets: number | undefined };

/** Bounds the sockets from now on, until what it returns is called. */
export function boundSockets(
  listener: Pick<Listener, "pause" | "resume">,
  { log, maxSockets = Infinity }: SocketOptions,
): () => void {
  const own = countOpen();
  const limit = readOpenLimit();
  if (own === undefined || limit === undefined) return () => undefined;
  const most = Math.min(maxSockets, Math.floor((limit - own) * SHARE));
  let spares = openSpares();
  let isPaused = false;
  const look = (): void => {
    // Where there is none left to count with, all are in use.
    const sockets = (countOpen() ?? limit) - own - spares.length;
    if (!isPaused && sockets >= most) {
      isPaused = true;
      for (const spare of spares) closeSync(spare);
      spares = [];
      listener.pause();
      log("error", "too many sockets", {
        message: `${sockets} are open, and ${most} may be: new connections are refused until a fifth is free`,
      });
    } else if (isPaused && sockets <= most * (1 - ROOM) && resume(listener)) {
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

/** Whether callers are taken again; where the port cannot be had, the next look tries once more. */
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

/** How many descriptors the process has open; since Linux 6.2 that is the folder's size, which needs none to be read. */
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
