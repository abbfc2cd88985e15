/** The result of a check, with a remedy. @module */

export type CheckResult = {
  about: string;
  level: "ok" | "warn" | "fail";
  says: string;
  /** The next step for the operator; absent if nothing is needed. */
  remedy?: string;
};
