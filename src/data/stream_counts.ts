/** The number of open event streams of each app and each key, with a limit. @module */
import type { Principal } from "../principal.ts";
import { Problem } from "../problem.ts";

/** Max streams in a process: per app and per key. */
export type MaxStreams = { readonly app: number; readonly key: number };
export const MAX_STREAMS: MaxStreams = { app: 1000, key: 500 };

const RETRY_S = 5;

/**
 * Counts a stream until the returned function is called once.
 *
 * @throws {Problem} rate_limited — the app or the key has too many streams
 */
export type CountStream = (principal: Pick<Principal, "appId" | "keyId">) => () => void;

export function makeCountStream(max: MaxStreams): CountStream {
  const counts = { app: new Map<string, number>(), key: new Map<string, number>() };
  const add = (owner: keyof MaxStreams, id: string, change: 1 | -1): void => {
    const count = (counts[owner].get(id) ?? 0) + change;
    if (count === 0) counts[owner].delete(id);
    else counts[owner].set(id, count);
  };
  return ({ appId: app, keyId: key }) => {
    const owners = Object.entries({ app, key }) as [keyof MaxStreams, string][];
    for (const [owner, id] of owners)
      if ((counts[owner].get(id) ?? 0) >= max[owner]) throw toProblem(owner, max[owner]);
    for (const [owner, id] of owners) add(owner, id, 1);
    return () => {
      for (const [owner, id] of owners) add(owner, id, -1);
    };
  };
}

function toProblem(owner: keyof MaxStreams, max: number): Problem {
  return new Problem("rate_limited", {
    message: `This ${owner} has ${max} open event streams, the max of a process`,
    retryAfterS: RETRY_S,
  });
}
