/**
 * The parts of `.ci/run` and of `bun run test:all`, each with a form for either. `.ci/run` runs the reduced forms: on another
 * server only what can differ there, and a tour of all routes, commands and functions; a tenth of the random cases, with fixed
 * seeds (`test/support/tier.ts`); each page in one theme and width. `test:all` runs the full forms, before a release.
 *
 * `bun run planted` shows that the reduced forms find errors (`test/planted/errors.ts`). Through PgBouncer, the part finds statements that
 * are prepared by name only if clients change sessions; a tenth of the cases finds no rare errors, which need `test:all`.
 *
 * @module
 */
import type { Extent } from "../support/tier.ts";
import { type Server, startPooled, startPostgres15 } from "./servers.ts";

export type Form = {
  /** Arguments of bun. */
  command: readonly string[];
  /** The form's minutes on an idle machine with two cores, to compare the other parts with. */
  minutes: number;
};

export type Part = {
  name: string;
  /** Starts a server for each worker of the tests. Without it, the tests start their own. */
  start?: () => Promise<Server>;
  env?: Readonly<Record<string, string>>;
  forms: Readonly<Record<Extent, Form>>;
};

const PARALLEL = ["test/parallel.ts", "--tier=all"];
const NEWER = "test/ci/newer_postgres.ts";
const TOUR = "test/system/tour_slow.ts";
/** The tests that depend on PostgreSQL's version, or on a pooler in front of it. */
const MODULES = ["records", "console", "data", "db", "identity", "tables", "service", "system"];
const ON_OTHER_SERVERS = [
  ...MODULES.map((module) => `test/${module}/*_test.ts*`),
  "test/cli/migrate_test.ts",
  TOUR,
];
/** Slow tests that depend on the server. The others start their own servers (`test/data/query_*` one of each version), or none. */
const SLOW_ON_OTHER_SERVERS = [
  ...["db/migrate_steps", "db/pool", "db/upgrade", "identity/throttle"],
  ...["tables/change_*", "tables/limits", "tables/locked", "tables/rules_*"],
  ...["tables/shared_table", "system/operating_doc"],
].map((file) => `test/${file}_slow.ts`);

/** The same in both runs. */
function always(command: readonly string[], minutes: number): Part["forms"] {
  return { reduced: { command, minutes }, full: { command, minutes } };
}

const script = (name: string) => ["run", name];
const tests = (...paths: string[]) => [...PARALLEL, ...paths];

export const PARTS: readonly Part[] = [
  { name: "lint, types and embedded PostgreSQL 18", forms: always(script("check"), 3) },
  {
    name: "slow tests on embedded PostgreSQL 18",
    forms: {
      reduced: { command: script("test:slow"), minutes: 10 },
      full: { command: script("test:slow"), minutes: 38 },
    },
  },
  {
    name: "Chromium",
    forms: {
      reduced: { command: script("test:browser"), minutes: 4.5 },
      full: { command: script("test:browser"), minutes: 12 },
    },
  },
  { name: "the image", forms: always(script("test:container"), 0.5) },
  { name: "documentation pages", forms: always(script("test:docs"), 0.3) },
  {
    name: "end-to-end",
    forms: {
      reduced: {
        command: ["test", "--timeout", "60000", "./test/walk/first_hour_walk.ts"],
        minutes: 1,
      },
      full: { command: script("test:walk"), minutes: 7 },
    },
  },
  {
    name: "API contract",
    forms: {
      reduced: { command: script("test:contract"), minutes: 1.7 },
      full: { command: script("test:contract"), minutes: 6 },
    },
  },
  {
    name: "chaos tests",
    forms: {
      reduced: { command: script("test:storm"), minutes: 2.2 },
      full: { command: script("test:storm"), minutes: 6 },
    },
  },
  {
    name: "gateway, data and identity apart",
    env: { TEST_SHAPE: "split" },
    forms: {
      // Signatures, headers, bodies and streams pass through the gateway, and it decides who can call a route.
      reduced: {
        command: tests(
          ...["gateway", "http"].map((module) => `test/${module}/*_test.ts*`),
          ...[
            "data/changes",
            "data/errors",
            "data/isolation",
            "data/person_attacks_*",
            "data/person_model",
            "data/person_stolen_login",
            "identity/hosts",
            "identity/matrix",
          ].map((file) => `test/${file}_test.ts`),
          TOUR,
        ),
        minutes: 0.5,
      },
      full: {
        command: tests(
          ...["data", "http", "gateway", "identity"].map((module) => `test/${module}/*_test.ts*`),
          "test/db/outage_test.ts",
          TOUR,
        ),
        minutes: 3,
      },
    },
  },
  {
    name: "PostgreSQL 15",
    start: startPostgres15,
    forms: {
      // Generated SQL, DDL and catalogs: each form of a statement once. Attacks, limits and streams send the same statements, and the
      // tour calls every function. The slow tests on PostgreSQL 18 compare its plans (test/data/query_cost_slow.ts) and check the
      // statements of all functions (test/system/plpgsql_slow.ts) there.
      reduced: {
        command: tests(
          ...[
            ...[
              "address_lists",
              "batch",
              "change_feed",
              "claim_rows",
              "create_groups",
              "enum_index",
            ],
            ...[
              "errors",
              "groups",
              "history",
              "idempotency",
              "list",
              "lock_order",
              "lookups",
              "model",
            ],
            ...["number_lists", "on_update", "person_model", "person_rows", "person_stolen_login"],
            ...["person_union", "person_upsert", "query", "query_fuzz", "referenced", "related"],
            ...[
              "row_size",
              "set_null",
              "update_many",
              "update_where",
              "upsert",
              "values",
              "walk_indexes",
            ],
            "writes_fuzz",
          ].map((file) => `test/data/${file}_test.ts`),
          ...[
            ...["change", "changed_tables", "deferred", "drift", "enum_form", "former_functions"],
            ...["history_edits", "index_form", "limits", "locked", "matrix", "plans", "properties"],
            ...["retype", "schema_drop", "sets", "shared_table"],
          ].map((file) => `test/tables/${file}_test.ts`),
          ...["call", "grants", "login", "migrations", "pool", "push_login", "temporary_login"].map(
            (file) => `test/db/${file}_test.ts`,
          ),
          ...["cli/migrate_test", "service/doctor_test"].map((file) => `test/${file}.ts`),
          ...[...["db/pool", "tables/change_*", "tables/locked"], "tables/rules_*"].map(
            (file) => `test/${file}_slow.ts`,
          ),
          TOUR,
        ),
        minutes: 2.2,
      },
      full: { command: tests(...ON_OTHER_SERVERS, ...SLOW_ON_OTHER_SERVERS), minutes: 10 },
    },
  },
  {
    // The tests run the programs of Debian's PostgreSQL, which is version 15 by default.
    name: "backups on PostgreSQL 18",
    forms: always([NEWER, "18", "test", "--timeout", "60000", "./test/system/backup_slow.ts"], 0.4),
  },
  {
    // Debian's PostgreSQL 18.6 cannot upgrade 15.20: it has no versions of columns.
    name: "pg_upgrade from PostgreSQL 15 to 17",
    forms: always(
      [NEWER, "17", "test", "--timeout", "120000", "./test/system/pg_upgrade_major.ts"],
      0.3,
    ),
  },
  {
    name: "PgBouncer in transaction mode",
    start: startPooled,
    forms: {
      // Pushes and migrations bypass the pooler. test/system/session_state_slow.ts sends them through it. All routes send their
      // statements by one function, and the tour calls each: what a rule or a filter means cannot differ here.
      reduced: {
        command: tests(
          ...[
            ...["changes", "errors", "first_request", "idempotency", "isolation", "key_proof"],
            ...["list", "list_cache", "list_pipeline", "list_size", "lock_order", "person_rows"],
            ...["person_stolen_login", "preconditions", "query", "read_only"],
          ].map((file) => `test/data/${file}_test.ts`),
          ...["pipeline", "pool", "outage", "login", "call"].map(
            (file) => `test/db/${file}_test.ts`,
          ),
          "test/service/pipelined_reads_test.ts",
          TOUR,
        ),
        minutes: 0.5,
      },
      full: { command: tests(...ON_OTHER_SERVERS), minutes: 5 },
    },
  },
];
