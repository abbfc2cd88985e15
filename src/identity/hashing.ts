/**
 * Password hashes: argon2id with our own parameters, a few at a time. An unknown address costs one hash too: timing must not
 * tell who has an account. @see https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html
 *
 * @module
 */
import { Problem } from "../problem.ts";

const PARAMETERS = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;
/** What a new hash begins with; one that begins differently is replaced at the next sign-in. */
const CURRENT = `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=1$`;
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
export function makeHashing(): Hashing {
  const bounded = makeBound(MAX_AT_ONCE, MAX_WAITING);
  const hash = (password: string) =>
    bounded(() => Bun.password.hash(password, PARAMETERS), { isFirst: true });
  let decoy: Promise<string> | undefined;
  return {
    make: hash,
    verify: async (password, known, turn) => {
      decoy ??= Bun.password.hash(crypto.randomUUID(), PARAMETERS);
      const compared = known ?? (await decoy);
      const isRight = await bounded(() => Bun.password.verify(password, compared), turn);
      return known !== undefined && isRight;
    },
    isCurrent: (known) => known.startsWith(CURRENT),
  };
}

/** Whether a task goes before those of strangers, and waits only behind its own kind. */
type Turn = { isFirst: boolean };
type Bound = <Result>(task: () => Promise<Result>, turn?: Turn) => Promise<Result>;

/**
 * Runs at most `most` tasks at once and the others in order, those who go first before the rest; refuses if `mostWaiting` of
 * the same kind are already waiting.
 */
export function makeBound(most: number, mostWaiting: number): Bound {
  let running = 0;
  const first: (() => void)[] = [];
  const others: (() => void)[] = [];
  return async (task, turn) => {
    const waiting = turn?.isFirst === true ? first : others;
    if (running >= most && waiting.length >= mostWaiting)
      throw new Problem("overloaded", { retryAfterS: 5 });
    // A finished task hands its place to the next, so that nobody can jump the queue.
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
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
