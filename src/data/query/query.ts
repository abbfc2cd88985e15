/** What a list asks for, after it was read and checked. @module */

import type { RecordedTable } from "../../tables/catalog/mod.ts";
import type { Condition, QueryColumn } from "./filter.ts";
import type { Page } from "./paging.ts";

export type SortKey = { readonly column: QueryColumn; readonly isDescending: boolean };

export type ListQuery = Page &
  Selection & {
    /** All of them must be true. */
    readonly where: readonly Condition[];
    /** A total order: the last key is the id. Omits columns that a condition limits to one value or to none. */
    readonly order: readonly SortKey[];
    /** The values of the order's keys in the first row of the page. */
    readonly after: readonly (string | null)[] | undefined;
    /** Whether only `limit` and `offset` were given. */
    readonly isPlain: boolean;
  };

export type Selection = {
  /** Empty, without related rows: every column. */
  readonly select: readonly QueryColumn[];
  readonly related: readonly Relation[];
};

export type Relation = Selection & {
  readonly name: string;
  readonly table: RecordedTable;
  /** The reference: of the selecting table, or of the children's. */
  readonly column: QueryColumn;
  readonly children: Children | undefined;
};

export type Children = {
  readonly limit: number;
  readonly order: readonly SortKey[];
};
