/** The number of open streams of a process, and of each app, key, person and visitor, with limits. @module */
import type { Principal } from "../principal.ts";
import { Problem } from "../problem.ts";

/** A visitor is a client without a key, by its address. */
type Owner = "app" | "key" | "person" | "visitor";

/** Max open streams of a process, in total and per owner. */
export type MaxStreams = Readonly<Record<Owner | "process", number>>;
export const MAX_STREAMS: MaxStreams = {
  process: 10_000,
  app: 1000,
  key: 500,
  person: 100,
  visitor: 500,
};

export type StreamOwners = Readonly<Partial<Record<Owner, string>>>;

/** The owners of a stream: a new key of a person is no new limit. */
export function streamOwnersOf({
  appId: app,
  keyId: key,
  person,
}: Pick<Principal, "appId" | "keyId" | "person">): StreamOwners {
  return person === undefined ? { app, key } : { app, person: `${app} ${person.id}` };
}

const RETRY_S = 5;

/**
 * Counts a stream until the returned function is called. Only the first call counts.
 *
 * @throws {Problem} rate_limited — the app, the key or the person has too many streams; overloaded — the visitor or the process has
 */
export type CountStream = (owners: StreamOwners) => () => void;

export function makeCountStream(max: MaxStreams): CountStream {
  const counts = new Map<string, number>();
  const add = (names: readonly string[], change: 1 | -1): void => {
    for (const name of names) {
      const count = (counts.get(name) ?? 0) + change;
      if (count === 0) counts.delete(name);
      else counts.set(name, count);
    }
  };
  return (owners) => {
    // The owner's limits first: a caller can do something about them.
    const counted = [...(Object.entries(owners) as [Owner, string][]), ["process", ""] as const];
    const names = counted.map(([owner, id]) => `${owner} ${id}`);
    const full = counted.find(([owner], at) => (counts.get(names[at] ?? "") ?? 0) >= max[owner]);
    if (full !== undefined) throw toProblem(full[0], max[full[0]]);
    add(names, 1);
    let isCounted = true;
    return () => {
      if (isCounted) add(names, -1);
      isCounted = false;
    };
  };
}

function toProblem(owner: keyof MaxStreams, max: number): Problem {
  const isOverloaded = owner === "visitor" || owner === "process";
  return new Problem(isOverloaded ? "overloaded" : "rate_limited", {
    message: `This ${owner} has ${max} open streams, the max of a process`,
    retryAfterS: RETRY_S,
  });
}
