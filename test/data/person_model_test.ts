/** Random requests of people on random rows under random rules, compared with a naive evaluator of the rules. */
import { expect, test } from "bun:test";
import { openModelService, run } from "../support/oracle/run.ts";
import { share } from "../support/share.ts";

const service = await share(openModelService());

test("people get exactly what the rules give them", async () => {
  const outcome = await run(service, { seed: 52, schemas: 1, rules: 2, requests: 60 });
  expect(outcome.rejected).toEqual([]);
  expect(outcome.requests).toBe(2 * 60);
  // An endpoint that is open for people needs a player.
  expect(outcome.unplayed).toEqual([]);
}, 60_000);
