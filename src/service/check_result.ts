/** The result of a check: it passes, or it warns or fails with a remedy. @module */

export type CheckResult = {
  about: string;
  level: "ok" | "warn" | "fail";
  message: string;
  /** The next step for the operator; absent if nothing is needed. */
  remedy?: string;
};

/** The issue, and the next step for the operator. */
type Advice = Omit<Required<CheckResult>, "about" | "level">;

export function pass(about: string, message: string): CheckResult {
  return { about, level: "ok", message };
}

export function warn(about: string, advice: Advice): CheckResult {
  return { about, level: "warn", ...advice };
}

export function fail(about: string, advice: Advice): CheckResult {
  return { about, level: "fail", ...advice };
}
