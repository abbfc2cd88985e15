/**
 * Password hashes: argon2id with our own parameters, a few at a time. An unknown address costs one hash too: timing must not
 * tell who has an account. @see https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html
 *
 * @module
 */
import { Problem } from "../problem.ts";

export type HashingCost = { memoryKib: number; passes: number };
/** The cost in production: no setting changes it. Only tests pass a lower cost. */
export const HASHING_COST: HashingCost = { memoryKib: 19_456, passes: 2 };
/** Each takes 19 MB and a core: more at once would only slow down requests. */
const MAX_AT_ONCE = 2;
/** Beyond this many the wait would be too long: for strangers, and for those who go first. */
const MAX_WAITING = 100;

export type Hashing = {
  /** Goes first: whoever has a link, or has just typed the right password, is not a stranger. */
  readonly make: (password: string) => Promise<string>;
  /** Whether a password is right; without a hash to compare it takes just as long, and says no. */
  readonly verify: (password: string, hash: string | undefined, turn?: Turn) => Promise<boolean>;
  readonly isCurrent: (hash: string) => boolean;
};

/** @throws {Problem} overloaded — from both, when too many wait */
export function makeHashing({ cost = HASHING_COST }: { cost?: HashingCost } = {}): Hashing {
  const bounded = makeBound(MAX_AT_ONCE, MAX_WAITING);
  const { memoryKib: memoryCost, passes: timeCost } = cost;
  const parameters = { algorithm: "argon2id", memoryCost, timeCost } as const;
  // A hash that starts differently is replaced at the next sign-in.
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

/** Whether a task goes before those of strangers, and waits only behind its own kind. */
type Turn = { isFirst: boolean };
type Bound = <Result>(task: () => Promise<Result>, turn?: Turn) => Promise<Result>;

/**
 * Runs at most `most` tasks at once and the others in order, those who go first before the rest; refuses if `mostWaiting` of
 * the same kind are already waiting.
 */
export function makeBound(maxRunning: number, maxWaiting: number): Bound {
  let running = 0;
  const first: (() => void)[] = [];
  const others: (() => void)[] = [];
  return async (task, turn) => {
    const waiting = turn?.isFirst === true ? first : others;
    if (running >= maxRunning && waiting.length >= maxWaiting)
      throw new Problem("overloaded", { retryAfterS: 5 });
    // A finished task hands its place to the next, so that no one can jump the queue.
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
