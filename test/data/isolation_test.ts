/**
 * Runs the isolation matrix over services with minimal rights and with all rights, without and with previews. A reduced run has
 * the previews only with all rights, because there no missing right hides a leak.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { PREVIEWS } from "../../src/preview.ts";
import { checkEndpoint, endpointsWith, makeWorld, type Worlds } from "../support/isolation.ts";
import { openTestService, type TestService } from "../support/service.ts";
import { isFull } from "../support/tier.ts";

test("the matrix has the endpoints for keys", () => {
  expect(endpointsWith([]).length).toBeGreaterThan(10);
});

const REDUCED = [
  { login: "least", previews: [] },
  { login: "superuser", previews: PREVIEWS },
] as const;
const FULL = [
  ...REDUCED,
  { login: "superuser", previews: [] },
  { login: "least", previews: PREVIEWS },
] as const;

for (const { login, previews } of isFull() ? FULL : REDUCED) {
  describe(`isolation, served by the ${login} login with the previews "${previews.join()}"`, () => {
    let services: TestService[];
    let worlds: Worlds;
    beforeAll(async () => {
      const [first, second] = await Promise.all([
        openTestService({ login, service: { previews } }),
        openTestService({ login, service: { previews } }),
      ]);
      services = [first, second];
      const live = previews.some((preview) => preview === "live");
      worlds = {
        single: await makeWorld(first, { crowded: false, live }),
        crowded: await makeWorld(second, { crowded: true, live }),
      };
    });
    afterAll(async () => void (await Promise.all(services.map((service) => service.close()))));

    test.each([...endpointsWith(previews)])(
      "%s gives the same response as without other apps",
      (endpoint) => checkEndpoint(worlds, endpoint),
    );
  });
}
