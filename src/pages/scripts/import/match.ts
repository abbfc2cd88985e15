/** The referenced tables of an import: their columns that name a row, and their rows by the values of one of these. @module */
import { type Match, type PagePosition, readMatch, readPages } from "../../../rows/mod.ts";
import type { NamedColumn } from "../../../schema/mod.ts";
import { MAX_ROWS } from "../../../std/limits.ts";
import { type RowsPage, readPage } from "../search/pages.ts";

/** The rows of a referenced table as JSON, its columns that name a row, and the one whose text the pages show. */
export type MatchTarget = {
  readonly url: string;
  readonly columns: readonly NamedColumn[];
  readonly label?: string;
};
/** By the name of the table. */
export type MatchTargets = Readonly<Partial<Record<string, MatchTarget>>>;

/** The reference in a file has values of this column. */
export type MatchBy = { readonly target: MatchTarget; readonly column: NamedColumn };

export function findMatchBy(
  targets: MatchTargets,
  { table = "" }: NamedColumn,
  name: string,
): MatchBy | undefined {
  const target = targets[table];
  const column = target?.columns.find((other) => other.name === name);
  return target && column && { target, column };
}

/** By the names of the references. */
export async function readMatches(
  by: ReadonlyMap<string, MatchBy>,
): Promise<ReadonlyMap<string, Match>> {
  const matches = new Map<string, Match>();
  for (const [reference, { target, column }] of by)
    matches.set(
      reference,
      await readMatch(
        column,
        listTable(target.url, ({ rows }) => rows),
      ),
    );
  return matches;
}

export function listTable<Row extends { readonly id: string }>(
  url: string,
  toRows: (page: RowsPage) => readonly Row[],
): AsyncGenerator<readonly Row[], void> {
  const list = async ({ limit, offset }: PagePosition) => {
    const page = await readPage(`${url}?limit=${limit}&offset=${offset}`);
    return { rows: toRows(page), hasMore: page.hasMore };
  };
  return readPages(list, { limit: MAX_ROWS, idOf: ({ id }) => id });
}
