/** The matrix of isolation over houses of this run, with the least rights and with all. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openTestHouse, type TestHouse } from "../support/house.ts";
import {
  checkEndpoint,
  endpoints,
  endpointsOfMatrix,
  makeWorld,
  type Worlds,
} from "../support/isolation.ts";

test("every endpoint that a key opens stands in the matrix", () => {
  expect([...endpointsOfMatrix].sort()).toEqual([...endpoints].sort());
});

for (const login of ["least", "superuser"] as const) {
  describe(`isolation, served by the ${login} login`, () => {
    let houses: TestHouse[];
    let worlds: Worlds;
    beforeAll(async () => {
      const [one, two] = await Promise.all([openTestHouse({ login }), openTestHouse({ login })]);
      houses = [one, two];
      worlds = {
        alone: await makeWorld(one, { crowded: false }),
        crowded: await makeWorld(two, { crowded: true }),
      };
    });
    afterAll(async () => void (await Promise.all(houses.map((house) => house.close()))));

    test.each([...endpoints])("%s answers as if there were no other app", (endpoint) =>
      checkEndpoint(worlds, endpoint),
    );
  });
}
