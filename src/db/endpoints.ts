/** The names of the functions of apps' tables, which SQL files and generated code share. @module */

/** Of every database, also of a cluster. */
export const ENDPOINTS = ["list", "get", "create", "create_many", "update", "delete"] as const;
/** Of databases on one server. */
const OTHERS = ["create_group", "walk"] as const;
/**
 * One function of the schema rowhouse for all tables, which builds its statements from the terms of a set
 * (`tables/sql/functions/terms_body.ts`).
 */
export const SHARED_ENDPOINTS = {
  changes: "read_changes",
  delete_found: "delete_found_rows",
  find: "find_rows",
  find_groups: "find_groups",
  update_found: "update_found_rows",
  update_many: "update_rows",
  upsert: "upsert_rows",
  update_keyed: "update_keyed_rows",
} as const;

export type OwnEndpoint = (typeof ENDPOINTS | typeof OTHERS)[number];
export type SharedEndpoint = keyof typeof SHARED_ENDPOINTS;
export type Endpoint = OwnEndpoint | SharedEndpoint;
export const ALL_ENDPOINTS: readonly Endpoint[] = [
  ...ENDPOINTS,
  ...OTHERS,
  ...(Object.keys(SHARED_ENDPOINTS) as SharedEndpoint[]),
];
/** The functions of a set: those of its own endpoints, and one that is only read. */
export type SetFunction = OwnEndpoint | "terms";
/** Every function that a set can have. */
export const SET_FUNCTIONS: readonly SetFunction[] = [...ENDPOINTS, ...OTHERS, "terms"];
/** The functions of a set on the nodes of a cluster. */
export const NODE_FUNCTIONS: readonly SetFunction[] = [...ENDPOINTS, "terms"];

const PLANNED = "pg_catalog.uuid, pg_catalog.bytea, pg_catalog.text, pg_catalog.text[]";

/**
 * Endpoints that only processes before 0.2.0 call, with the types of their arguments. Their functions stay as such a process
 * generated them until `rowhouse migrate --contract`, or until their set is dropped. `rowhouse.kept_bodies` records them.
 */
export const FORMER_ENDPOINTS = {
  query: `${PLANNED}, pg_catalog.int4, pg_catalog.text`,
  groups: `${PLANNED}, pg_catalog.int4, pg_catalog.text`,
  children: "pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text",
  related: "pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text",
  upsert:
    "pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4[], pg_catalog.text[], pg_catalog.int4[], pg_catalog.bool, pg_catalog.int4, pg_catalog.bytea",
  changes: "pg_catalog.uuid, pg_catalog.bytea, pg_catalog.text, pg_catalog.int4, pg_catalog.int4",
  update_where: `${PLANNED}, pg_catalog.int4, pg_catalog.bool, pg_catalog.bool, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea`,
  delete_where: `${PLANNED}, pg_catalog.int4, pg_catalog.bool, pg_catalog.bool, pg_catalog.bytea`,
} as const satisfies Readonly<Record<string, string>>;
export type FormerEndpoint = keyof typeof FORMER_ENDPOINTS;
