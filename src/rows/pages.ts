/** All rows of a table that others write to, a page at a time. @module */

export type ListedPage<Row> = { readonly rows: readonly Row[]; readonly hasMore: boolean };
export type PagePlace = { readonly limit: number; readonly offset: number };

/**
 * The pages of a table, each row once. A page begins with the last row of the page before, so that rows which are deleted
 * since then make no other row be left out.
 */
export async function* readPages<Row>(
  list: (place: PagePlace) => Promise<ListedPage<Row>>,
  { limit, idOf }: { limit: number; idOf: (row: Row) => string },
): AsyncGenerator<readonly Row[], void> {
  let last = "";
  let overlaps = false;
  for (let offset = 0; ; ) {
    const page = await list({ limit, offset });
    const [first] = page.rows;
    // Rows in front of it were deleted: the row that was read last is further up now.
    if (overlaps && offset > 0 && (first === undefined || idOf(first) > last)) {
      offset = Math.max(offset - limit, 0);
      continue;
    }
    const rows = page.rows.filter((row) => idOf(row) > last);
    yield rows;
    const end = rows.at(-1);
    last = end === undefined ? last : idOf(end);
    if (!page.hasMore) return;
    // A page of large rows may have but one.
    overlaps = page.rows.length > 1;
    offset += overlaps ? page.rows.length - 1 : 1;
  }
}
