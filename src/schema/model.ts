/**
 * A table with indexes and unique constraints over several columns: plain data, with modifiers that return a new model.
 *
 * @module
 */
import type { Columns } from "./column.ts";
import { addIssues, type Issued, withUnknown } from "./issues.ts";

type Lists = readonly (readonly string[])[];

/** Any model, from any copy of this package. */
export type AnyModel = { readonly model: Parts<Columns> };

type Parts<C> = {
  readonly columns: C;
  readonly indexes: Lists;
  readonly uniques: Lists;
} & Issued;

/** A table's columns with its composite indexes and unique constraints. */
export interface Model<C, Unique extends UniqueNames = never> {
  readonly model: Parts<C>;
  /**
   * The columns of each unique constraint. Only for the compiler: never set at run time. A parameter is contravariant, so
   * a variable that holds a model accepts the model with another constraint.
   */
  readonly "~unique"?: (columns: Unique) => void;
  /**
   * The model with another index, on these columns in this order. An index on a reference also serves lists in the order of
   * the ids with `"id"` as its last name; other indexes do without it.
   */
  index(...columns: NamesOf<C> | [...NamesOf<C>, "id"]): Model<C, Unique>;
  /** The model with another unique constraint: no two rows of an app have the same values in these columns. */
  unique<const Names extends NamesOf<C>>(...columns: Names): Model<C, Unique | UniqueOf<Names>>;
}

type NamesOf<C> = [keyof C & string, ...(keyof C & string)[]];
/** The column of a unique constraint, or its columns. */
export type UniqueNames = string | readonly string[];
type UniqueOf<Names extends readonly string[]> = Names extends readonly [infer Only extends string]
  ? Only
  : Readonly<Names>;

/** A frozen model. */
export function makeModel<C extends Columns>(columns: C, found: readonly string[]): Model<C> {
  return extendModel({ columns, indexes: [], uniques: [], ...addIssues({}, found) });
}

function extendModel<C, Unique extends UniqueNames = never>(model: Parts<C>): Model<C, Unique> {
  const extended = {
    model: Object.freeze(model),
    index: (...columns: NamesOf<C> | [...NamesOf<C>, "id"]) =>
      extendModel<C, Unique>({ ...model, indexes: [...model.indexes, Object.freeze(columns)] }),
    unique: <const Names extends NamesOf<C>>(...columns: Names) =>
      extendModel<C, Unique | UniqueOf<Names>>({
        ...model,
        uniques: [...model.uniques, Object.freeze(columns)],
      }),
  };
  return withUnknown(Object.freeze(extended), (name) =>
    extendModel<C, Unique>({
      ...model,
      ...addIssues(model, [`Cannot use .${name}() on a model: ${MODIFIERS}`]),
    }),
  );
}

const MODIFIERS = 'the modifiers are .index("column", …) and .unique("column", …)';
