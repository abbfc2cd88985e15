/** The types of `.allow()`: the compiler checks columns, values of enums and kinds. Nothing here exists at run time. @module */
import type { Kind, KindTypes } from "../kinds/mod.ts";
import type { KnownOf } from "./column.ts";

/** `true`: every row of the app. An object: all columns match. A list: any of its alternatives. `false`: no row. */
type RuleOf<C> = boolean | AlternativeOf<C> | readonly AlternativeOf<C>[];

/** The rules of a role. A missing action is denied; `update` and `delete` need `read`. */
export type RoleRulesOf<C> = {
  readonly read?: RuleOf<C>;
  readonly create?: RuleOf<C>;
  /** A plain rule holds before and after the change. */
  readonly update?: RuleOf<C> | { readonly from: RuleOf<C>; readonly to: RuleOf<C> };
  readonly delete?: RuleOf<C>;
};

type AlternativeOf<C> = { readonly [Name in keyof C]?: MatchOf<C[Name]> } & {
  /** The row is of the person, in a table whose ids are those of people. */
  readonly id?: "me";
};

type MatchOf<C> =
  KnownOf<C> extends { kind: infer K extends Kind; required: infer Required; detail: infer Detail }
    ? CompareOf<KindTypes<Detail>[K]["compared"], Required>
    : never;

type CompareOf<Compared, Required> = [Compared] extends [never]
  ? never
  : Compared | (Required extends true ? never : null);
