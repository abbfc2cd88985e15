import { expect, test } from "bun:test";
import { makePerson, signInAs, submitSignIn } from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

// Hashes at full cost, as in production.
const service = await share(openTestService({ service: { hashing: undefined } }));

test("a sign-in attempt has the same duration for known and unknown addresses", async () => {
  const person = await makePerson(service);
  await signInAs(service, person); // replaces the cheap hash of the tests
  // Alternates, and compares the fastest of each: other work on the machine only adds time.
  let [known, unknown] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < 8; round++) {
    known = Math.min(known, await timeWrong(person.email));
    unknown = Math.min(unknown, await timeWrong("unknown@example.org"));
  }
  expect(unknown).toBeGreaterThan(known / 2);
  expect(known).toBeGreaterThan(unknown / 2);
});

async function timeWrong(email: string): Promise<number> {
  const startedAt = performance.now();
  const response = await submitSignIn(service, new Map(), { email, password: "not the password" });
  expect(response.status).toBe(422);
  return performance.now() - startedAt;
}
