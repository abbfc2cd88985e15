/** What a test that calls a generated function by itself shows as proof of a key. @module */
import { toProof } from "../../src/accounts/apps/mod.ts";

/** The proof of a key's text as an SQL literal. */
export function proofOf(key: string): string {
  const proof = toProof(key.slice(key.indexOf(".") + 1));
  // Not as '\\x…': a session may read backslashes in its own way.
  return `pg_catalog.decode('${Buffer.from(proof).toString("hex")}', 'hex')`;
}
