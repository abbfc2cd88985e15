/** Role: the part of the service that a process runs. `all` runs every part. @module */

export const ROLES = ["all", "gateway", "data", "identity"] as const;
export type Role = (typeof ROLES)[number];

/** Returns whether a process in this role calls the functions of tables. */
export function servesRows(role: Role): boolean {
  return role === "all" || role === "data";
}

/** Returns whether a process in this role works with people, sessions and the audit log. */
export function servesPeople(role: Role): boolean {
  return role === "all" || role === "identity";
}
