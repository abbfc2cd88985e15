/** The database roles of processes that serve. @module */
import type { Role } from "../role.ts";

/** What a login is made a member of, by the role of the process that uses it. */
export const SERVING_ROLES = {
  all: "rowhouse_service",
  gateway: "rowhouse_gateway",
  data: "rowhouse_data",
  identity: "rowhouse_identity",
} as const satisfies Record<Role, string>;
