/** Dependencies to create apps, keys and people in tests: the service's own randomness, and its key prefix. @module */

import type { Database } from "../../src/db/mod.ts";
import { type Hashing, makeHashing } from "../../src/identity/mod.ts";
import { type IdentitySecrets, makeIdentitySecrets } from "../../src/records/secrets/mod.ts";
import { type RandomBytes, systemRandomBytes } from "../../src/std/random_text.ts";

/** Signs the sessions, links and passwords of every test service. */
export const TEST_IDENTITY_SECRET =
  "a secret of the tests that no database holds: 32 bytes or more";
/** Cheap: the strength in production is tested in `test/identity/password_test.ts`. */
export const TEST_HASHING = makeHashing({ cost: { memoryKib: 8, passes: 1 } });
export const IDENTITY_SECRETS = makeIdentitySecrets([TEST_IDENTITY_SECRET]);

export type TestDeps = {
  admin: Database;
  makeId: () => string;
  randomBytes: RandomBytes;
  keyPrefix: string;
  identitySecrets: IdentitySecrets;
  hashing: Hashing;
  now: () => Date;
};

export function testDeps({ admin }: { admin: Database }): TestDeps {
  return {
    admin,
    makeId: () => Bun.randomUUIDv7(),
    randomBytes: systemRandomBytes,
    keyPrefix: "rh",
    identitySecrets: IDENTITY_SECRETS,
    hashing: TEST_HASHING,
    now: () => new Date(),
  };
}
