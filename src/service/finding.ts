/** The result of a check, with a remedy. @module */

export type Finding = {
  about: string;
  level: "ok" | "warn" | "fail";
  says: string;
  /** What the operator should do; absent if nothing is needed. */
  remedy?: string;
};
