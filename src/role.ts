/** Role: what a process does. `all` is everything in one; the others are a service in several processes. @module */

export const ROLES = ["all", "gateway", "data", "identity"] as const;
export type Role = (typeof ROLES)[number];

/** Whether a process in this role calls the functions of tables. */
export function servesRows(role: Role): boolean {
  return role === "all" || role === "data";
}

/** Whether a process in this role reaches people, their sessions and the audit log. */
export function servesPeople(role: Role): boolean {
  return role === "all" || role === "identity";
}
