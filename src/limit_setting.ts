/**
 * The limits that operators set. A row is the whole setting: `.env.example`, the docs, Compose and `dev` iterate over the rows, and the
 * code that needs a limit has it in its dependencies, by the name of the row.
 *
 * @module
 */
import { toDurationText } from "./std/duration.ts";
import {
  IDEMPOTENCY_COUNT_S,
  IDEMPOTENCY_HOURS,
  MAX_BODY_BYTES,
  MOST_BATCH_BYTES,
} from "./std/limits.ts";

type LimitSetting = {
  variable: string;
  /** What the text of the variable is. */
  form: "bytes" | "whole" | "seconds";
  /** The lowest and the highest value. */
  range: readonly [min: number, max: number];
  initial: number;
  about: string;
};

export const LIMIT_SETTINGS = {
  maxResponseBytes: {
    variable: "MAX_RESPONSE_BYTES",
    form: "bytes",
    range: [65_536, 268_435_456],
    initial: 8_388_608,
    about:
      "Max size in bytes of a row as JSON, and of a page of a list, which can exceed it by one row. A write that would create a larger row is rejected. In a split service, set it for the gateway and the data service.",
  },
  maxBatchBytes: {
    variable: "MAX_BATCH_BYTES",
    form: "bytes",
    range: [MAX_BODY_BYTES, MOST_BATCH_BYTES],
    initial: MAX_BODY_BYTES,
    about: `Max size in bytes of a request body that is a list of rows; the body for one row keeps its limit of ${MAX_BODY_BYTES} bytes. Clients read it from /v1/openapi.json. In a split service, set it for the gateway and the data service.`,
  },
  queryTimeoutS: {
    variable: "QUERY_TIMEOUT",
    form: "seconds",
    range: [1, 30],
    // Far above the time of a query within its other limits.
    initial: 5,
    about:
      "Max execution time of a list with conditions or an order, at most 30s. Then the service cancels the statement, and the response is 504.",
  },
  personPerMinute: {
    variable: "PERSON_REQUESTS_PER_MINUTE",
    form: "whole",
    range: [1, 100_000_000],
    initial: 6000,
    about:
      "Max requests of a person on an app in a minute, with all keys of the person together (PREVIEW=browser). Each started 8 KB of a body count as one. They also count for the app's limit. More get 429. In a split service, set it for the gateway.",
  },
  idempotencyBytes: {
    variable: "IDEMPOTENCY_BYTES",
    form: "bytes",
    range: [0, 1_099_511_627_776],
    initial: 67_108_864,
    about: `Max size in bytes of the stored responses to writes with an Idempotency-Key, per app; responses are stored for ${IDEMPOTENCY_HOURS} hours. Over the limit, new keys get 429. The database counts the usage every ${toDurationText(IDEMPOTENCY_COUNT_S)}; in between, each process adds only its own writes.`,
  },
  pushesPerHour: {
    variable: "PUSHES_PER_HOUR",
    form: "whole",
    range: [1, 1_000_000],
    initial: 300,
    about:
      "Max pushes and dry runs per app and hour. Each counts once, even if it fails; the allowance refills evenly. Does not apply to operators' pushes (--app).",
  },
} as const satisfies Readonly<Record<string, LimitSetting>>;

type LimitName = keyof typeof LIMIT_SETTINGS;
export type SetLimits = { readonly [Name in LimitName]: number };
export type LimitVariable = (typeof LIMIT_SETTINGS)[LimitName]["variable"];

/** The rows with their names. */
export const LIMIT_ROWS = Object.entries(LIMIT_SETTINGS) as readonly [
  LimitName,
  LimitSetting & { variable: LimitVariable },
][];

/** Every limit: a value that `find` returns, or the default. */
export function readLimits(
  find: (name: LimitName, variable: LimitVariable) => number | undefined,
): SetLimits {
  const values = LIMIT_ROWS.map(([name, { variable, initial }]) => [
    name,
    find(name, variable) ?? initial,
  ]);
  return Object.fromEntries(values) as SetLimits;
}
