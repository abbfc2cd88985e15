/** Failed sign-ins do not reveal accounts, second factors or disabled accounts, by their responses or their timing. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { setDisabled } from "../../src/records/people/mod.ts";
import { testDeps } from "../support/deps.ts";
import { type Jar, makePerson, PASSWORD, readToken, visit } from "../support/people.ts";
import { enrolPerson } from "../support/second_factor.ts";
import { openTestService, type TestService } from "../support/service.ts";

const TRIES = 200;
/** A response may repeat the address, which the caller knows. */
const TYPED = /value="[^"]*"/g;

let service: TestService;
beforeAll(async () => {
  service = await openTestService({
    identity: (port) => ({ publicUrl: `http://127.0.0.1:${port}`, cookieDomain: "example.org" }),
  });
});
afterAll(() => service.close());

type Typed = { email: string; password: string };

/** Returns the input of a person with an account, then the inputs of other rejected people. */
async function makeKinds(): Promise<Typed[]> {
  const [known, factored, disabled] = [
    await makePerson(service),
    await makePerson(service),
    await makePerson(service),
  ];
  await enrolPerson(service, factored);
  await setDisabled(testDeps(service.service), disabled.email, true);
  const wrong = "not the password of any account";
  return [
    { email: known.email, password: wrong },
    { email: "unknown@example.org", password: wrong },
    { email: factored.email, password: wrong },
    { email: disabled.email, password: PASSWORD },
  ];
}

test("failed sign-ins have the same status, text and time", async () => {
  const [known, ...others] = await makeKinds();
  const jar: Jar = new Map();
  const form_token = readToken((await visit(service, jar, "/login")).text);
  /** One ratio per round, so that load on the machine affects both times of a ratio. */
  const ratios: number[] = [];
  const responses = new Set<string>();
  for (let round = 0; round < TRIES; round++) {
    await forgetAttempts();
    const pair = [
      ["known", known],
      ["others", others[round % others.length]],
    ] as const;
    const times = { known: 0, others: 0 };
    // The groups alternate in the first position.
    for (const [group, typed] of round % 2 === 0 ? pair : pair.toReversed()) {
      const start = performance.now();
      const fields = { form_token, email: "", password: "", ...typed };
      const response = await visit(service, jar, "/login", { fields });
      times[group] = performance.now() - start;
      responses.add(`${response.status} ${response.text.replaceAll(TYPED, "")}`);
    }
    ratios.push(times.known / times.others);
  }
  expect([...responses].map((text) => text.slice(0, 3))).toEqual(["422"]);
  const ratio = ratios.sort((a, b) => a - b)[TRIES / 2] ?? 0;
  expect(Math.max(ratio, 1 / ratio)).toBeLessThan(1.25);
}, 240_000);

async function forgetAttempts(): Promise<void> {
  const options = { retry: "unsafe", queue: SERVICE_QUEUE } as const;
  await service.service.admin.query("delete from rowhouse.throttle", [], options);
}
