/** How long a request for a forgotten password takes reveals to no one which accounts exist. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createUser, setDisabled } from "../../src/accounts/people/mod.ts";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { testDeps } from "../support/deps.ts";
import { type MailService, openMailService } from "../support/mail_service.ts";
import { type Jar, makePerson, readToken, visit } from "../support/people.ts";
import type { TestService } from "../support/service.ts";

const ROUNDS = 200;

let service: TestService;
let close: MailService["close"];
beforeAll(async () => {
  ({ service, close } = await openMailService());
});
afterAll(() => close());

test("POST /forgot takes as long for a known address as for any other", async () => {
  const person = await makePerson(service);
  const disabled = await makePerson(service);
  await setDisabled(testDeps(service.service), disabled.email, true);
  const invited = `invited-${crypto.randomUUID().slice(-8)}@example.org`;
  const options = { email: invited, displayName: undefined, consoleRole: undefined };
  await createUser(testDeps(service.service), options);
  const jar: Jar = new Map();
  const form_token = readToken((await visit(service, jar, "/forgot")).text);
  const others = ["nobody@example.org", disabled.email, invited, "not an address\u0000"];
  const times: { known: number[]; others: number[] } = { known: [], others: [] };
  for (let round = 0; round < ROUNDS; round++) {
    if (round % 5 === 0)
      await service.service.admin.query("delete from rowhouse.throttle", [], {
        retry: "unsafe",
        queue: SERVICE_QUEUE,
      });
    for (const [kind, email] of [
      ["known", person.email],
      ["others", others[round % others.length] ?? ""],
    ] as const) {
      const startedAt = performance.now();
      await visit(service, jar, "/forgot", { fields: { form_token, email } });
      times[kind].push(performance.now() - startedAt);
    }
  }
  const median = (list: number[]) => list.sort((a, b) => a - b)[list.length / 2] ?? 0;
  const [slower, faster] = [median(times.known), median(times.others)].sort((a, b) => b - a);
  expect((slower ?? 0) / (faster ?? 1)).toBeLessThan(1.25);
}, 60_000);
