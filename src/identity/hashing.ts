/**
 * Password hashes: argon2id with fixed parameters and limited concurrency. An unknown address also costs one hash, because
 * timing must not reveal who has an account.
 * @see https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html
 *
 * @module
 */
import { Problem } from "../problem.ts";

export type HashingCost = { memoryKib: number; passes: number };
/** The cost in production. Only tests pass a lower cost. */
const HASHING_COST: HashingCost = { memoryKib: 19_456, passes: 2 };
/** Each hash uses 19 MB and a core: more concurrency would only slow down requests. */
const MAX_CONCURRENT = 2;
/** Max queue length, per priority. */
const MAX_WAITING = 100;

export type Hashing = {
  /** Hashes with priority: the caller has a link or has just entered the correct password. */
  readonly make: (password: string) => Promise<string>;
  /** Whether a password is correct. Without a hash, the call lasts as long and returns false. */
  readonly verify: (password: string, hash: string | undefined, turn?: Turn) => Promise<boolean>;
  readonly isCurrent: (hash: string) => boolean;
};

/** A hasher; both methods throw `overloaded` if the queue is full. */
export function makeHashing({ cost = HASHING_COST }: { cost?: HashingCost } = {}): Hashing {
  const bounded = makeBound(MAX_CONCURRENT, MAX_WAITING);
  const { memoryKib: memoryCost, passes: timeCost } = cost;
  const parameters = { algorithm: "argon2id", memoryCost, timeCost } as const;
  // A hash with another prefix is replaced at the next sign-in.
  const current = `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=1$`;
  let decoy: Promise<string> | undefined;
  return {
    make: (password) => bounded(() => Bun.password.hash(password, parameters), { isFirst: true }),
    verify: async (password, known, turn) => {
      decoy ??= Bun.password.hash(crypto.randomUUID(), parameters);
      const compared = known ?? (await decoy);
      const isRight = await bounded(() => Bun.password.verify(password, compared), turn);
      return known !== undefined && isRight;
    },
    isCurrent: (known) => known.startsWith(current),
  };
}

/** Whether a task has priority over tasks of unknown devices. */
type Turn = { isFirst: boolean };
type Bound = <Result>(task: () => Promise<Result>, turn?: Turn) => Promise<Result>;

/**
 * Runs up to `maxRunning` tasks concurrently and queues the others, with priority tasks first. Throws `overloaded` if
 * `maxWaiting` tasks of the same priority are already queued.
 */
export function makeBound(maxRunning: number, maxWaiting: number): Bound {
  let running = 0;
  const first: (() => void)[] = [];
  const others: (() => void)[] = [];
  return async (task, turn) => {
    const waiting = turn?.isFirst === true ? first : others;
    if (running >= maxRunning && waiting.length >= maxWaiting)
      throw new Problem("overloaded", { retryAfterS: 5 });
    // A finished task passes its slot to the next task, so that no new task can jump the queue.
    if (running >= maxRunning) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await task();
    } finally {
      const next = first.shift() ?? others.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
