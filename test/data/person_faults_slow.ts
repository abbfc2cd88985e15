/**
 * Each planted fault of the compiler of rules is found by the comparison with the model. A reduced run plants one of each kind that the
 * first schema finds: they show that the model compares, and the others that it compares everything.
 */
import { describe, expect, test } from "bun:test";
import { FAULTS, plant } from "../support/oracle/faults.ts";
import { Difference } from "../support/oracle/play.ts";
import { openModelService, run } from "../support/oracle/run.ts";
import { isFull } from "../support/tier.ts";

const SCHEMAS = 8;
const QUICK = [
  "a delete ignores its rule",
  "references are not checked",
  "an idempotency key is not bound to the person",
  "related rows ignore the rule of their table",
];
const NAMES = isFull() ? Object.keys(FAULTS) : QUICK;

describe.each(NAMES)("%s", (name) => {
  test("is found", async () => {
    const fault = FAULTS[name];
    if (fault === undefined) throw new Error("No such fault");
    let planted = 0;
    let found: unknown;
    for (let schema = 0; schema < SCHEMAS && found === undefined; schema++) {
      // The check of the isolation when a service opens finds the faults of an earlier schema.
      const service = await openModelService();
      try {
        await run(service, {
          ...{ seed: 52 + schema, schemas: 1, rules: 5, requests: 100 },
          ...(fault.players === undefined ? {} : { only: fault.players }),
          onPush: async (world) => {
            planted += await plant(world, fault);
          },
        });
      } catch (error) {
        // On a busy machine, the check of the isolation finds the fault after two minutes, and the next schema is for the model.
        if (!String(error).includes("has stopped serving")) found = error;
      } finally {
        await service.close();
      }
    }
    expect(planted).toBeGreaterThan(0);
    if (!(found instanceof Difference))
      throw found ?? new Error("The model did not find the fault");
    console.log(`${name}: ${found.message.split("\n")[0]?.slice(0, 200)}`);
  }, 600_000);
});
