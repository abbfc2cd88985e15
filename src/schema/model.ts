/**
 * A table with indexes and unique constraints over several columns, and with rules: plain data, with modifiers that return a new
 * model.
 *
 * @module
 */

import { addIssues, findExtraArguments, type Issued, withUnknown } from "./call_issues.ts";
import type { Columns, RoleNames } from "./column.ts";
import type { RoleRulesOf } from "./rule_types.ts";

type Lists = readonly (readonly string[])[];

/** Any model, from any copy of this package. */
export type AnyModel = { readonly model: Parts<Columns> };

type Parts<C> = {
  readonly columns: C;
  readonly indexes: Lists;
  readonly uniques: Lists;
  /** The rules, in the order of the calls. */
  readonly allows?: readonly DeclaredAllow[];
} & Issued;

/** An unchecked call of `.allow()`. */
type DeclaredAllow = { readonly roles: string | readonly string[]; readonly rules: unknown };

/** A table's columns with its composite indexes, unique constraints and rules. */
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
  /**
   * The model with the rights of people with these roles, for requests from a browser. Everything without a rule is denied. API
   * keys have all rights.
   */
  allow(role: string | RoleNames, rules: RoleRulesOf<C> | "everything"): Model<C, Unique>;
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
    allow: (
      roles: string | RoleNames,
      rules: RoleRulesOf<C> | "everything",
      ...extra: readonly unknown[]
    ) =>
      extendModel<C, Unique>({
        ...model,
        allows: [...(model.allows ?? []), Object.freeze({ roles, rules })],
        ...addIssues(
          model,
          findExtraArguments(".allow()", '.allow("role", { read: true, … })', extra),
        ),
      }),
  };
  return withUnknown(Object.freeze(extended), (name) =>
    extendModel<C, Unique>({
      ...model,
      ...addIssues(model, [`Cannot use .${name}() on a model: ${MODIFIERS}`]),
    }),
  );
}

const MODIFIERS =
  'the modifiers are .index("column", …), .unique("column", …) and .allow("role", { … })';
