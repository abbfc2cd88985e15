/** The bodies of responses with several rows. The row is a schema of the table. @module */
import * as v from "valibot";
import type { Aggregate } from "../kinds/mod.ts";
import { DRY_IDS, MAX_COUNTED, MAX_GROUPS, MAX_ROWS } from "../std/limits.ts";

export function pageOf<Row extends v.GenericSchema>(row: Row) {
  return v.object({
    rows: v.pipe(
      v.array(row),
      v.maxLength(MAX_ROWS),
      v.description("The rows of this page, in order of creation."),
    ),
    limit: v.pipe(
      v.number(),
      v.integer(),
      v.description(`The requested number of rows, reduced to ${MAX_ROWS} if higher.`),
      v.examples([MAX_ROWS]),
    ),
    offset: v.pipe(
      v.number(),
      v.integer(),
      v.description("The number of rows skipped before this page."),
      v.examples([0]),
    ),
    hasMore: v.pipe(
      v.boolean(),
      v.description("Whether more rows follow. Request them with a greater `offset`."),
      v.examples([false]),
    ),
  });
}

/** A page of a query. Its rows have the selected columns. */
export function foundOf<Row extends v.GenericSchema>(row: Row) {
  return v.object({
    ...pageOf(row).entries,
    next: v.pipe(
      v.nullable(v.string()),
      v.description("The cursor of the next page, for `after`; null on the last page."),
      v.examples([null]),
    ),
    count: v.exactOptional(
      v.pipe(
        v.nullable(v.pipe(v.number(), v.integer())),
        v.description(
          `With \`Prefer: count=exact\` or \`count=estimated\`: the number of rows that match the conditions; null if the service would have to read more than ${MAX_COUNTED.toLocaleString("en-US")} rows, or compare too much text.`,
        ),
      ),
    ),
    countIsEstimate: v.exactOptional(
      v.pipe(
        // A literal has a type that generators of Python clients do not render.
        v.boolean(),
        v.description("With `Prefer: count=estimated`: true if `count` is not exact."),
      ),
    ),
  });
}

/** Groups of rows. The members of each part are columns of the table. */
export function groupsOf<Part extends v.GenericSchema>(
  by: Part,
  aggregates: Readonly<Record<Aggregate, Part>>,
) {
  const count = v.pipe(v.number(), v.integer(), v.description("The number of its rows."));
  const group = v.object({
    by,
    count,
    ...v.partial(v.object(aggregates)).entries,
  });
  return v.object({
    groups: v.pipe(
      v.array(group),
      v.maxLength(MAX_GROUPS),
      v.description("All groups, sorted by the columns in `by`; nulls come last."),
    ),
  });
}

export const UPSERT_RESULTS = ["created", "updated", "unchanged", "ignored", "missing"] as const;

export function upsertedOf<Row extends v.GenericSchema>(row: Row) {
  return v.object({
    rows: v.pipe(
      v.array(row),
      v.description(
        "The rows as they are now, in the order of the request, without those that are missing.",
      ),
    ),
    results: v.pipe(
      v.array(v.picklist(UPSERT_RESULTS)),
      v.description("What happened to each row of the request, in its order."),
    ),
  });
}

export function batchOf<Row extends v.GenericSchema>(row: Row) {
  return v.object({
    rows: v.pipe(v.array(row), v.description("The stored rows, in the order of the request.")),
  });
}

/** The result of a write with conditions. */
export const COUNTED = v.object({
  count: v.pipe(
    v.number(),
    v.integer(),
    v.description(
      "The number of rows that matched. Rows that have the sent values already are included.",
    ),
    v.examples([3]),
  ),
  hasMore: v.exactOptional(
    v.pipe(v.boolean(), v.description("With `limit`: whether more rows match.")),
  ),
  ids: v.exactOptional(
    v.pipe(
      v.array(v.pipe(v.string(), v.uuid())),
      v.maxLength(DRY_IDS),
      v.description(`With \`dryRun\`: the ids of the first ${DRY_IDS} rows, in order of creation.`),
    ),
  ),
});
