/** Pages as patches: the first page whole, then only what changed in it, by id. @module */

/** A page whose rows have ids. */
export type RowPage<Row extends { readonly id: string }> = { readonly rows: readonly Row[] };

/** A page, or its difference from the page before. */
export type Patch<Row extends { readonly id: string }> =
  | RowPage<Row>
  | {
      /** Rows that are new, changed or moved, and their positions in the page, in ascending order. */
      readonly put: readonly { readonly at: number; readonly row: Row }[];
      /** The ids of rows that left the page. */
      readonly removed: readonly string[];
      /** Other members of the page that changed, such as `hasMore`. */
      readonly page: object;
    };

/** The page after a patch. A patch that is not a page needs the page before it. */
export function applyPatch<Row extends { readonly id: string }, Page extends RowPage<Row>>(
  before: Page | undefined,
  patch: Patch<Row>,
): Page {
  if ("rows" in patch) return patch as Page;
  if (before === undefined) throw new Error("Cannot apply a patch without the page before it");
  const { put, removed, page } = patch;
  const left = new Set([...removed, ...put.map(({ row }) => row.id)]);
  const rows = before.rows.filter(({ id }) => !left.has(id));
  for (const { at, row } of put) rows.splice(at, 0, row);
  return { ...before, ...page, rows };
}

/** The rows of a page as JSON, by id and in order. */
type Sent = { readonly rows: ReadonlyMap<string, string>; readonly page: Record<string, unknown> };

/** The first page, then a patch for each further page that differs. `return()` returns the pages. */
export function toPatches<Row extends { readonly id: string }>(
  pages: AsyncIterable<RowPage<Row>>,
): AsyncIterableIterator<Patch<Row>> {
  const values = pages[Symbol.asyncIterator]();
  let sent: Sent | undefined;
  const next = async (): Promise<IteratorResult<Patch<Row>>> => {
    for (;;) {
      const result = await values.next();
      if (result.done === true) return { done: true, value: undefined };
      const { rows, ...page } = result.value;
      const now = { rows: toTexts(rows), page };
      const patch = sent === undefined ? result.value : compare(sent, now, rows);
      sent = now;
      if (patch !== undefined) return { done: false, value: patch };
    }
  };
  const iterator: AsyncIterableIterator<Patch<Row>> = {
    next,
    return: async () => {
      await values.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

function toTexts(rows: readonly { readonly id: string }[]): Map<string, string> {
  return new Map(
    rows.map((row) => {
      if (typeof row.id !== "string")
        throw new TypeError('Cannot send changed rows without their ids: select must contain "id"');
      return [row.id, JSON.stringify(row)];
    }),
  );
}

function compare<Row extends { readonly id: string }>(
  before: Sent,
  now: Sent,
  rows: readonly Row[],
): Patch<Row> | undefined {
  const removed = [...before.rows.keys()].filter((id) => !now.rows.has(id));
  const places = new Map([...before.rows.keys()].map((id, place) => [id, place]));
  const same = rows.filter(({ id }) => before.rows.get(id) === now.rows.get(id));
  const kept = findAscending(same.map(({ id }) => places.get(id) ?? 0));
  const unmoved = new Set([...kept].map((index) => same[index]?.id));
  const put = rows.flatMap((row, at) => (unmoved.has(row.id) ? [] : [{ at, row }]));
  const page = Object.fromEntries(
    Object.entries(now.page).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before.page[name]),
    ),
  );
  const isEmpty = put.length + removed.length + Object.keys(page).length === 0;
  return isEmpty ? undefined : { put, removed, page };
}

/** The indexes of a longest ascending selection: only the other rows have moved. */
function findAscending(numbers: readonly number[]): Set<number> {
  /** For each length, the index of the lowest last number. */
  const ends: number[] = [];
  const previous: (number | undefined)[] = [];
  for (const [index, number] of numbers.entries()) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((numbers[ends[middle] ?? 0] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    previous[index] = ends[low - 1];
    ends[low] = index;
  }
  const found = new Set<number>();
  for (let index = ends.at(-1); index !== undefined; index = previous[index]) found.add(index);
  return found;
}
