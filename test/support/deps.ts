/** What makes apps, keys and people in tests: the service's own sources of chance, and its prefix of keys. @module */
import type { Database } from "../../src/db/mod.ts";
import { type RandomBytes, systemRandomBytes } from "../../src/std/random_text.ts";

export type TestDeps = {
  admin: Database;
  makeId: () => string;
  randomBytes: RandomBytes;
  keyPrefix: string;
};

export function testDeps({ admin }: { admin: Database }): TestDeps {
  return {
    admin,
    makeId: () => Bun.randomUUIDv7(),
    randomBytes: systemRandomBytes,
    keyPrefix: "rh",
  };
}
