/** A column of an app's schema: plain data, with modifiers that return a new column. Immutable and unchecked. @module */

import type { Kind, KindTypes } from "../kinds/mod.ts";
import { addIssues, findExtraArguments, type Issued, withUnknown } from "./call_issues.ts";
import type { ColumnDefinition } from "./definition.ts";

// Compile-time facts about a column, from any copy of this package. Nothing here exists at run
// time.

/** The unchecked declaration of a column: its default can be any value. */
export type DeclaredColumn = Omit<ColumnDefinition, "kind" | "default"> & {
  readonly kind: string;
  readonly default?: unknown;
  /** The service fills the column with the person's id. */
  readonly owner?: true;
  /** The roles that read and write the column. */
  readonly only?: readonly string[];
  /** The roles that write the column. */
  readonly setBy?: readonly string[];
} & Issued;

/** Compile-time facts about a column; `Detail` is the values of an enum, the shape of a json, the table of a ref. */
type Known = {
  readonly kind: Kind;
  readonly required: boolean;
  readonly hasDefault: boolean;
  readonly detail: unknown;
  readonly unique: boolean;
};

/** Any column, from any copy of this package. */
export type AnyColumn = {
  readonly column: DeclaredColumn;
  /** Only for the compiler: never set at run time. */
  readonly "~known"?: Known;
};

/** Columns by name. */
export type Columns = { readonly [name: string]: AnyColumn };

/** The compile-time facts of this column type. */
export type KnownOf<C> = C extends { readonly "~known"?: infer K }
  ? Extract<NonNullable<K>, Known>
  : never;

/** The type that `.default()` accepts. */
type DefaultOf<K extends Kind, Detail> = NonNullable<KindTypes<Detail>[K]["default"]>;

/** The type that `.onUpdate()` accepts: only a timestamp with a default has it. */
type OnUpdateOf<K extends Kind, HasDefault extends boolean> = KindTypes<never>[K] extends {
  readonly onUpdate: "now";
}
  ? HasDefault extends true
    ? "now"
    : never
  : never;

/** The arguments of `.owner()`: none for a uuid column. */
type OwnerArguments<K extends Kind> = KindTypes<never>[K] extends { readonly isPerson: true }
  ? []
  : [{ readonly "Rowhouse: only a t.uuid() column can be an owner": never }];

/** The names of one or more roles. */
export type RoleNames = readonly [string, ...string[]];

/** A column of a schema. */
export interface Column<
  K extends Kind,
  Required extends boolean,
  HasDefault extends boolean,
  Detail = never,
  Unique extends boolean = false,
> {
  readonly column: DeclaredColumn;
  /** Only for the compiler: never set at run time. */
  readonly "~known"?: {
    readonly kind: K;
    readonly required: Required;
    readonly hasDefault: HasDefault;
    readonly detail: Detail;
    readonly unique: Unique;
  };
  /** The column, required: rejects null. */
  required(): Column<K, true, HasDefault, Detail, Unique>;
  /** The column, unique: two rows of an app cannot have the same value. */
  unique(): Column<K, Required, HasDefault, Detail, true>;
  /** The column with an index. */
  index(): Column<K, Required, HasDefault, Detail, Unique>;
  /** The column, with a value for rows that omit it. */
  default(value: DefaultOf<K, Detail>): Column<K, Required, true, Detail, Unique>;
  /**
   * The timestamp with the default `"now"`, set to the time of each update that changes another value of the row, unless the
   * update sets the timestamp itself.
   */
  onUpdate(value: OnUpdateOf<K, HasDefault>): Column<K, Required, HasDefault, Detail, Unique>;
  /**
   * The uuid column, filled with the id of the person who creates the row from a browser. No person can set or change it; the
   * app's server, with an API key, does.
   */
  owner(...none: OwnerArguments<K>): Column<K, Required, true, Detail, Unique>;
  /** The column, which other roles than these neither read nor write from a browser. */
  only(...roles: RoleNames): Column<K, Required, HasDefault, Detail, Unique>;
  /** The column, which other roles than these only read from a browser. */
  setBy(...roles: RoleNames): Column<K, Required, HasDefault, Detail, Unique>;
}

/** A reference that a delete of its row sets to null, so that it cannot be required. */
export interface OptionalReference<Table extends string, Unique extends boolean = false>
  extends Pick<Column<"ref", false, false, Table, Unique>, "column" | "~known"> {
  /** The column, unique: two rows of an app cannot have the same value. */
  unique(): OptionalReference<Table, true>;
  /** The column with an index. */
  index(): OptionalReference<Table, Unique>;
  /** The column, which other roles than these neither read nor write from a browser. */
  only(...roles: RoleNames): OptionalReference<Table, Unique>;
  /** The column, which other roles than these only read from a browser. */
  setBy(...roles: RoleNames): OptionalReference<Table, Unique>;
}

/** A frozen column. */
export function makeColumn<
  K extends Kind,
  Required extends boolean,
  HasDefault extends boolean,
  Detail,
  Unique extends boolean,
>(declared: DeclaredColumn): Column<K, Required, HasDefault, Detail, Unique> {
  const setFlag = (flag: "required" | "unique" | "index", extra: readonly unknown[]) => ({
    ...declared,
    [flag]: true,
    ...addIssues(declared, findExtraArguments(`.${flag}()`, `.${flag}()`, extra)),
  });
  const setRoles = (key: "only" | "setBy", roles: readonly string[]) => ({
    ...declared,
    [key]: Object.freeze([...roles]),
    ...addIssues(declared, [
      ...(roles.length === 0 ? [`Cannot call .${key}() without a role`] : []),
      ...(declared[key] === undefined ? [] : [`Cannot call .${key}() twice on a column`]),
    ]),
  });
  const column = {
    column: Object.freeze(declared),
    required: (...extra: readonly unknown[]) =>
      makeColumn<K, true, HasDefault, Detail, Unique>(setFlag("required", extra)),
    unique: (...extra: readonly unknown[]) =>
      makeColumn<K, Required, HasDefault, Detail, true>(setFlag("unique", extra)),
    index: (...extra: readonly unknown[]) =>
      makeColumn<K, Required, HasDefault, Detail, Unique>(setFlag("index", extra)),
    default: (value: DefaultOf<K, Detail>, ...extra: readonly unknown[]) =>
      makeColumn<K, Required, true, Detail, Unique>({
        ...declared,
        default: value,
        ...addIssues(declared, findExtraArguments(".default()", ".default(value)", extra)),
      }),
    onUpdate: (value: "now", ...extra: readonly unknown[]) =>
      makeColumn<K, Required, HasDefault, Detail, Unique>({
        ...declared,
        onUpdate: value,
        ...addIssues(declared, findExtraArguments(".onUpdate()", '.onUpdate("now")', extra)),
      }),
    owner: (...extra: readonly unknown[]) =>
      makeColumn<K, Required, true, Detail, Unique>({
        ...declared,
        owner: true,
        ...addIssues(declared, findExtraArguments(".owner()", ".owner()", extra)),
      }),
    only: (...roles: RoleNames) =>
      makeColumn<K, Required, HasDefault, Detail, Unique>(setRoles("only", roles)),
    setBy: (...roles: RoleNames) =>
      makeColumn<K, Required, HasDefault, Detail, Unique>(setRoles("setBy", roles)),
  };
  return withUnknown(Object.freeze(column), (name) =>
    makeColumn({
      ...declared,
      ...addIssues(declared, [`Cannot use .${name}() on a column: ${MODIFIERS}`]),
    }),
  );
}

const MODIFIERS =
  'the modifiers are .required(), .unique(), .index(), .default(value), .onUpdate("now"), .owner(), .only("role", …) and .setBy("role", …)';
