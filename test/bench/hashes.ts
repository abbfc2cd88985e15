/** Passwords verified by themselves, bounded as in a serving process: what a number of sign-ins costs at the least. @module */
import { makeHashing } from "../../src/identity/mod.ts";

/** Milliseconds that so many verifications take, begun at once. */
export async function timeHashes(count: number): Promise<number> {
  const hashing = makeHashing();
  const password = crypto.randomUUID();
  const hash = await hashing.make(password);
  const startedAt = performance.now();
  const verdicts = await Promise.all(
    Array.from({ length: count }, () => hashing.verify(password, hash)),
  );
  if (!verdicts.every(Boolean)) throw new Error("A right password was not taken");
  return performance.now() - startedAt;
}
