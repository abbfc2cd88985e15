/** The number of cases for each column kind. @module */
import { countRuns } from "../support/tier.ts";

export const CASES_SETTING = "CONTRACT_CASES";
const CASES = 2000;
export const LONG_CASES = 20_000;

export function casesOfRun(): number {
  return Number(process.env[CASES_SETTING] ?? countRuns(CASES));
}
