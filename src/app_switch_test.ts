/** The declarations of settings of an app. @module */
import { expect, test } from "bun:test";
import { APP_SWITCH_NAMES, describeSwitch } from "./app_switch.ts";
import { PERSON_BIT, SCOPE_BITS } from "./principal.ts";

test("the bits of settings, people and scopes in proofs differ, and fit a smallint", () => {
  const ofSettings = APP_SWITCH_NAMES.flatMap((name) => describeSwitch(name).proofBit ?? []);
  const bits = [...ofSettings, PERSON_BIT, ...Object.values(SCOPE_BITS)];
  expect(ofSettings.length).toBeGreaterThan(0);
  expect(new Set(bits).size).toBe(bits.length);
  for (const bit of bits) expect(Number.isInteger(Math.log2(bit)) && bit < 2 ** 15).toBe(true);
});
