/** Reads all rows of a table page by page while others write to it. @module */

type ListedPage<Row> = { readonly rows: readonly Row[]; readonly hasMore: boolean };
export type PagePosition = { readonly limit: number; readonly offset: number };

/**
 * Yields the pages of a table; each row appears once. A page starts with the last row of the previous page, so a concurrent
 * delete does not make it skip rows.
 */
export async function* readPages<Row>(
  list: (position: PagePosition) => Promise<ListedPage<Row>>,
  { limit, idOf }: { limit: number; idOf: (row: Row) => string },
): AsyncGenerator<readonly Row[], void> {
  let last = "";
  let overlaps = false;
  for (let offset = 0; ; ) {
    const page = await list({ limit, offset });
    const [first] = page.rows;
    // Earlier rows were deleted, so the last read row has moved up.
    if (overlaps && offset > 0 && (first === undefined || idOf(first) > last)) {
      offset = Math.max(offset - limit, 0);
      continue;
    }
    const rows = page.rows.filter((row) => idOf(row) > last);
    yield rows;
    const end = rows.at(-1);
    last = end === undefined ? last : idOf(end);
    if (!page.hasMore) return;
    // A page of large rows can have only one row.
    overlaps = page.rows.length > 1;
    offset += overlaps ? page.rows.length - 1 : 1;
  }
}
