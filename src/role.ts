/** Role: what a process does. `all` is everything in one process; the others split the service. @module */

export const ROLES = ["all", "gateway", "data", "identity"] as const;
export type Role = (typeof ROLES)[number];

/** Whether a process in this role calls the functions of tables. */
export function servesRows(role: Role): boolean {
  return role === "all" || role === "data";
}

/** Whether a process in this role works with people, sessions and the audit log. */
export function servesPeople(role: Role): boolean {
  return role === "all" || role === "identity";
}
