/** The settings of the database: its logins, pools and limits, the first rows of `SETTINGS`. @module */
import * as v from "valibot";
import { IDEMPOTENCY_BYTES, LIST_BYTES, QUERY_TIMEOUT_S } from "../data/deps.ts";
import { isPreview, PREVIEWS } from "../preview.ts";
import { toDurationText } from "../std/duration.ts";
import {
  IDEMPOTENCY_COUNT_S,
  IDEMPOTENCY_HOURS,
  MAX_BODY_BYTES,
  MOST_BATCH_BYTES,
  PERSON_REQUESTS_A_MINUTE,
} from "../std/limits.ts";
import { PUSH_LIMITS } from "../tables/limits.ts";
import { toTerm } from "./environment.ts";
import { bytes, Duration, list, OnOrOff, PostgresUrl, type Setting, whole } from "./forms.ts";

/** The max execution time of every other statement. */
const MAX_QUERY_TIMEOUT_S = 30;

export const DATABASE_SETTINGS = {
  DATABASE_URL: {
    form: v.optional(PostgresUrl),
    isSecret: true,
    about:
      "The serving login's connection string; can go through a transaction pooler. Required by serve.",
  },
  ADMIN_DATABASE_URL: {
    form: v.optional(PostgresUrl),
    isSecret: true,
    about:
      "For serve: the connection string of the pushing login, a member of rowhouse_tables and no other role. For migrate and admin: the connection string of an administrator, a member of rowhouse_owner. Must connect directly to PostgreSQL, not through a pooler. Default: DATABASE_URL.",
  },
  CONSOLE_DATABASE_URL: {
    form: v.optional(PostgresUrl),
    isSecret: true,
    about:
      "The connection string of the Console's login. Use a separate login: rowhouse migrate grants it only the rights of the Console. Unset: no Console. In a split service, set it only for the identity service.",
  },
  IDENTITY_DATABASE_URL: {
    form: v.optional(PostgresUrl),
    isSecret: true,
    about:
      "Only where ROLE is all: the connection string of a separate login for identity, so that code injected into apps' tables never runs in a session that can read accounts. Run rowhouse migrate with it. Unset: identity shares DATABASE_URL, and a stolen pushing login can do everything that the serving login can.",
  },
  IDENTITY_DATABASE_POOL: {
    form: whole(1, 500),
    initial: "10",
    about:
      "Max connections of IDENTITY_DATABASE_URL, in addition to DATABASE_POOL: 30 per worker in total by default.",
  },
  ROWS_DATABASE_URL: {
    form: v.optional(PostgresUrl),
    isSecret: true,
    about:
      "For admin: the connection string of the login that counts and deletes apps' rows. Use a separate login that connects directly to PostgreSQL: rowhouse migrate grants it only these rights. serve does not start if it is set. Unset: each command creates a temporary login and drops it.",
  },
  DATABASE_POOL: {
    form: whole(1, 500),
    initial: "20",
    about: "Max connections in the pool.",
  },
  CITUS_NODE_POOL: {
    form: whole(0, 500),
    initial: "0",
    about:
      "On a Citus cluster: max connections per worker to each node. Calls of apps' tables then go straight to the node with the app's rows, as the login of DATABASE_URL, at the address in pg_dist_node. 0: all calls go through the coordinator.",
  },
  MAX_RESPONSE_BYTES: {
    form: bytes(65_536, 268_435_456),
    initial: String(LIST_BYTES),
    about:
      "Max size in bytes of a row as JSON, and of a page of a list, which can exceed it by one row. A write that would create a larger row is rejected. In a split service, set it for the gateway and the data service.",
  },
  MAX_BATCH_BYTES: {
    form: bytes(MAX_BODY_BYTES, MOST_BATCH_BYTES),
    initial: String(MAX_BODY_BYTES),
    about: `Max size in bytes of a request body that is a list of rows; the body for one row keeps its limit of ${MAX_BODY_BYTES} bytes. Clients read it from /v1/openapi.json. In a split service, set it for the gateway and the data service.`,
  },
  QUERY_TIMEOUT: {
    form: v.pipe(Duration, v.maxValue(MAX_QUERY_TIMEOUT_S, "must be at most 30s")),
    initial: `${QUERY_TIMEOUT_S}s`,
    about:
      "Max execution time of a list with conditions or an order (PREVIEW=filters), at most 30s. Then the service cancels the statement, and the response is 504.",
  },
  PERSON_REQUESTS_PER_MINUTE: {
    form: whole(1, 100_000_000),
    initial: String(PERSON_REQUESTS_A_MINUTE),
    about:
      "Max requests of a person on an app in a minute, with all keys of the person together (PREVIEW=browser). Each started 8 KB of a body count as one. They also count for the app's limit. More get 429. In a split service, set it for the gateway.",
  },
  IDEMPOTENCY_BYTES: {
    form: bytes(0, 1_099_511_627_776),
    initial: String(IDEMPOTENCY_BYTES),
    about: `Max size in bytes of the stored responses to writes with an Idempotency-Key, per app; responses are stored for ${IDEMPOTENCY_HOURS} hours. Over the limit, new keys get 429. The database counts the usage every ${toDurationText(IDEMPOTENCY_COUNT_S)}; in between, each process adds only its own writes.`,
  },
  PUSHES_PER_HOUR: {
    form: whole(1, 1_000_000),
    initial: String(PUSH_LIMITS.pushesPerHour),
    about:
      "Max pushes and dry runs per app and hour. Each counts once, even if it fails; the allowance refills evenly. Does not apply to operators' pushes (--app).",
  },
  DATABASE_PREPARE: {
    form: OnOrOff,
    initial: "on",
    about:
      "Whether to use prepared statements. Set it to off behind PgBouncer before 1.21 in transaction mode: then no statement is sent before the result of the one before, either.",
  },
  PREVIEW: {
    form: v.pipe(
      list(isPreview, `must be one of ${PREVIEWS.join(", ")}, or several, comma-separated`, {
        toItem: toTerm,
      }),
      v.transform((names) => names.filter(isPreview)),
    ),
    initial: "",
    about:
      "Comma-separated preview features to enable: filters (conditions, order and selection on lists), live (event streams of changes for apps with live updates turned on), browser (pages that read and write rows as their person, for apps with browser access turned on), history (who or what changed rows, and the values before, in the Console, for apps with the history of rows turned on). A restart turns them on and off. In a split service, set it for the gateway, the data service and the identity service. Empty: this process serves none.",
  },
} as const satisfies Record<string, Setting>;
