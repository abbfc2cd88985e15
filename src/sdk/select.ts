/** Types of a selection with related rows and of an order: what they accept, and the rows that a selection returns. Nothing here exists at run time. @module */

/** A column of the sort order, and its direction. */
export type OrderKey<Row> = {
  [Column in Exclude<keyof Row & string, "app_id">]: { readonly [C in Column]: "asc" | "desc" };
}[Exclude<keyof Row & string, "app_id">];

type Row = { readonly id: string };

/** The row of a table of the app. */
export type RowOf<Tables, Name> = Name extends keyof Tables
  ? Tables[Name] extends { readonly row: infer R extends Row }
    ? R
    : never
  : never;

/** The columns that a selection accepts. */
type ColumnOf<R> = Exclude<keyof R & string, "app_id">;

/** The table of a reference: its ids have it as a mark. */
export type TargetOf<Value> = Value extends string
  ? "~table" extends keyof Value
    ? NonNullable<Value["~table"]>
    : never
  : never;

/** The columns with references to a table of the app; with `Target`, to this table. */
type RefOf<Tables, R, Target = keyof Tables> = {
  [C in Exclude<keyof R & string, "id">]: [TargetOf<R[C]>] extends [never]
    ? never
    : TargetOf<R[C]> extends Target & keyof Tables
      ? C
      : never;
}[Exclude<keyof R & string, "id">];

type IsUnion<U, All = U> = U extends unknown ? ([All] extends [U] ? false : true) : never;

/** The names of a table's children: tables with a reference to it. A table with several references names the column. */
type ChildOf<Tables, Name> = {
  [Child in Exclude<keyof Tables & string, keyof RowOf<Tables, Name>>]: RefOf<
    Tables,
    RowOf<Tables, Child>,
    Name
  > extends infer Ref extends string
    ? [Ref] extends [never]
      ? never
      : true extends IsUnion<Ref>
        ? `${Child}!${Ref}`
        : Child | `${Child}!${Ref}`
    : never;
}[Exclude<keyof Tables & string, keyof RowOf<Tables, Name>>];

type TableOf<Child> = Child extends `${infer Table}!${string}` ? Table : Child;

/** Levels of related rows that can follow. */
export type Depth = 0 | 1 | 2;
export type Below = { readonly 0: never; readonly 1: 0; readonly 2: 1 };

/** An item of a selection, before its related rows are checked. */
export type SelectItem<Tables, Name> =
  | ColumnOf<RowOf<Tables, Name>>
  | {
      readonly [K in RefOf<Tables, RowOf<Tables, Name>> | ChildOf<Tables, Name>]?:
        | object
        | undefined;
    };

/** A selection, or the type that it should have. */
export type CheckedItems<Tables, Name, Items, D extends Depth = 2> = {
  readonly [I in keyof Items]: Items[I] extends string
    ? ColumnOf<RowOf<Tables, Name>>
    : D extends 0
      ? never
      : { readonly [K in keyof Items[I]]: CheckedRelation<Tables, Name, K, Items[I][K], Below[D]> };
};

type CheckedRelation<Tables, Name, K, Value, D extends Depth> =
  K extends RefOf<Tables, RowOf<Tables, Name>>
    ? Value extends readonly unknown[]
      ? CheckedItems<Tables, TargetOf<RowOf<Tables, Name>[K]>, Value, D>
      : readonly SelectItem<Tables, TargetOf<RowOf<Tables, Name>[K]>>[]
    : K extends ChildOf<Tables, Name>
      ? CheckedChildren<Tables, TableOf<K>, Value, D>
      : never;

type CheckedChildren<Tables, Child, Value, D extends Depth> = Value extends readonly unknown[]
  ? CheckedItems<Tables, Child, Value, D>
  : {
      readonly [K in keyof Value | "select"]: K extends "select"
        ? Value extends { readonly select: infer Items extends readonly unknown[] }
          ? CheckedItems<Tables, Child, Items, D>
          : readonly SelectItem<Tables, Child>[]
        : K extends keyof ChildOptions<Tables, Child>
          ? ChildOptions<Tables, Child>[K]
          : never;
    };

/** Options of the rows that refer to a row. */
type ChildOptions<Tables, Child> = {
  /** Max rows of each row. Default: 20. */
  readonly limit?: number | undefined;
  /** An order that an index of the reference has. */
  readonly orderBy?: readonly OrderKey<RowOf<Tables, Child>>[] | undefined;
};

/** `& {}` removes the alias, so editors show the columns. */
type Flat<T> = { [K in keyof T]: T[K] } & {};
type Both<U> = (U extends unknown ? (value: U) => void : never) extends (value: infer All) => void
  ? All
  : never;

/** The rows of a selection: its columns, and its related rows under their names. */
export type Selected<Tables, Name, Items> = Items extends readonly unknown[]
  ? Flat<
      Pick<
        RowOf<Tables, Name>,
        Exclude<
          Extract<Items[number], keyof RowOf<Tables, Name>>,
          MemberOf<Exclude<Items[number], string>>
        >
      > &
        RelatedRows<Tables, Name, Exclude<Items[number], string>>
    >
  : never;

type MemberOf<Item> = Item extends unknown ? TableOf<keyof Item> : never;

type RelatedRows<Tables, Name, Item> = [Item] extends [never]
  ? unknown
  : Both<
      Item extends unknown
        ? {
            -readonly [K in keyof Item as TableOf<K> & string]: K extends keyof RowOf<Tables, Name>
              ?
                  | Selected<Tables, TargetOf<RowOf<Tables, Name>[K]>, Item[K]>
                  | Extract<RowOf<Tables, Name>[K], null>
              : {
                  readonly rows: Selected<Tables, TableOf<K>, ItemsOf<Item[K]>>[];
                  readonly hasMore: boolean;
                };
          }
        : never
    >;

type ItemsOf<Value> = Value extends { readonly select: infer Items } ? Items : Value;
