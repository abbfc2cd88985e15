/** What an examination finds, with its remedy. @module */

export type Finding = {
  about: string;
  level: "ok" | "warn" | "fail";
  says: string;
  /** What to do, if there is something to do. */
  remedy?: string;
};
