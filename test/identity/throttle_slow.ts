import { expect, test } from "bun:test";
import { makePerson, signInAs, submitSignIn } from "../support/people.ts";
import { measureProcessor } from "../support/processor_time.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

// Hashes at full cost, as in production.
const service = await share(openTestService({ service: { hashing: undefined } }));

test("a sign-in attempt costs the same for known and unknown addresses", async () => {
  const person = await makePerson(service);
  await signInAs(service, person); // replaces the cheap hash of the tests
  // Not the duration: beside other work on the machine, a hash can take twice as long as the next one.
  let [known, unknown] = [0, 0];
  for (let round = 0; round < 8; round++) {
    known += await measureWrong(person.email);
    unknown += await measureWrong("unknown@example.org");
  }
  expect(Math.max(known, unknown) / Math.min(known, unknown)).toBeLessThan(1.5);
});

async function measureWrong(email: string): Promise<number> {
  const password = "not the password";
  const { ms, result } = await measureProcessor(() =>
    submitSignIn(service, new Map(), { email, password }),
  );
  expect(result.status).toBe(422);
  return ms;
}
