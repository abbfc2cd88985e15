/** The proof of a key, for tests that call a generated function directly. @module */
import { toProof } from "../../src/records/apps/mod.ts";

/** Renders the proof of a key's text as an SQL literal. */
export function proofOf(key: string): string {
  const proof = toProof(key.slice(key.indexOf(".") + 1));
  // Not '\\x…': sessions with standard_conforming_strings = off read backslashes as escapes.
  return `pg_catalog.decode('${Buffer.from(proof).toString("hex")}', 'hex')`;
}
