/** The number of cases for each column kind. @module */
export const CASES_SETTING = "CONTRACT_CASES";
const CASES = 2000;
export const LONG_CASES = 20_000;

export function casesOfRun(): number {
  return Number(process.env[CASES_SETTING] ?? CASES);
}
