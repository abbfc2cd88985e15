/** The settings of the database: its logins, pools and limits, the first rows of `SETTINGS`. @module */
import * as v from "valibot";
import { LIMIT_ROWS, type LimitVariable } from "../limit_setting.ts";
import { isPreview, PREVIEWS } from "../preview.ts";
import { toTerm } from "./environment.ts";
import { bytes, Duration, list, OnOrOff, PostgresUrl, type Setting, whole } from "./forms.ts";

const LIMIT_FORMS = {
  bytes,
  whole,
  seconds: (_: number, max: number) => v.pipe(Duration, v.maxValue(max, `must be at most ${max}s`)),
};

type Limit = Omit<Setting, "form" | "initial"> & {
  form: v.GenericSchema<string, number>;
  initial: string;
};

function toLimits(): Readonly<Record<LimitVariable, Limit>> {
  const rows = LIMIT_ROWS.map(([, { variable, form, range, initial, about }]) => {
    const text = form === "seconds" ? `${initial}s` : String(initial);
    return [variable, { form: LIMIT_FORMS[form](...range), initial: text, about }];
  });
  return Object.fromEntries(rows);
}

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
  ...toLimits(),
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
