/**
 * How the service's tables of an older baseline, from 54a9feb9 on, differ from those of this release, for
 * `rowhouse admin move-database`. A column with the same name is copied as it is; a column that the old table lacks gets its
 * default. Everything else is declared here, or the move is rejected before it writes anything.
 *
 * @module
 */
import { TABLE_PATTERN } from "../../std/patterns.ts";
import { quoteLiteral } from "../../std/quote.ts";
import { AUDIT_ACTIONS } from "../code/mod.ts";

/** The tables that are not moved, and why. */
export const NOT_MOVED: Readonly<Record<string, string>> = {
  account_actions: "an empty row that this release creates",
  app_switches: "this release declares the settings of apps",
  audit_actions: "this release declares the actions",
  buckets: "counts of the current minute",
  change_feed: "belongs to the transactions of its database; streams start again",
  code: "migrate records the code",
  console_keys: "keys of the Console expire after five minutes",
  changes: "belongs to the transactions of its database; streams start again",
  isolation_checks: "the last check of its database",
  leases: "of the processes that served the old database",
  mail_sender: "of the process that served the old database",
  nonces: "expire after a minute",
  processes: "of the processes that served the old database",
  release: "migrate records the release and its previews",
  retypes: "an unfinished change of a column's type starts again",
  service_migrations: "migrate records the migrations",
  tag_seed: "a secret of its database; clients read pages again",
  versions: "become higher than the old ones",
  views: "migrate generates the functions of views, and records them",
};

type Difference = {
  /** The values of columns, computed from columns that only the old table has. */
  computed?: Readonly<Record<string, Computed>>;
  /** A condition for the rows: the table's checks reject the others. */
  only?: string;
};

/** A value from other columns of the old table. Ignored if the old table lacks one of them. */
type Computed = { from: readonly string[]; sql: string };

const RENAMED_ACTIONS: Readonly<Record<string, string>> = {
  disable_app: "set_disabled_on",
  enable_app: "set_disabled_off",
  start_live: "set_live_on",
  end_live: "set_live_off",
  start_people_list: "set_people_list_on",
  end_people_list: "set_people_list_off",
};

/** The present name of an entry's action. */
export const ACTION = `case action ${Object.entries(RENAMED_ACTIONS)
  .map(([from, to]) => `when ${quoteLiteral(from)} then ${quoteLiteral(to)}`)
  .join(" ")} else action end`;

const CHANGES = Object.entries(AUDIT_ACTIONS)
  .flatMap(([name, { isChange }]) => (isChange ? [quoteLiteral(name)] : []))
  .join(", ");

/** As the checks of `stored_requests` and `rejections`, which the older tables did not have. */
const IS_COUNTED = `(coalesce(table_name, '') = '' or table_name ~ ${quoteLiteral(TABLE_PATTERN)})
  and (code is null or code ~ '^[a-z0-9_]{1,60}$')`;
const IS_REQUEST = `method ~ '^[A-Z]{1,20}$' and route ~ '^(none|/[A-Za-z0-9:/._-]{0,199})$'
  and not exists (select from unnest(paths) as path
    where path ~ '^(/[0-9]{1,3})?/[A-Za-z_][A-Za-z0-9_]{0,62}$' is not true)`;

export const DIFFERENCES: Readonly<Record<string, Difference>> = {
  apps: {
    computed: {
      // Each setting had a column of its own.
      switches: {
        from: ["is_live", "lists_people"],
        sql: `array_remove(array[case when is_live then 'live' end,
          case when lists_people then 'people_list' end], null)`,
      },
    },
  },
  audit: {
    computed: {
      action: { from: ["action"], sql: ACTION },
      is_change: { from: ["action"], sql: `${ACTION} in (${CHANGES})` },
    },
  },
  rejections: { only: IS_COUNTED },
  row_jobs: {
    // Transactions of the old database, none of which is running.
    computed: { earlier: { from: ["earlier"], sql: "null" } },
  },
  stored_requests: { only: `${IS_REQUEST} and ${IS_COUNTED}` },
  merged_requests: {
    only: `stored_id in (select id from rowhouse.stored_requests where ${IS_REQUEST} and ${IS_COUNTED})`,
  },
};
