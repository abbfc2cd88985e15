/** The types of `.allow()`: columns, values of enums and kinds of columns are checked by the compiler. Nothing here exists at run time. @module */
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
  KnownOf<C> extends { kind: infer Kind; required: infer Required; detail: infer Detail }
    ? CompareOf<Kind, Detail> | (Required extends true ? never : NullOf<Kind>)
    : never;

type CompareOf<Kind, Detail> = Kind extends "uuid"
  ? "me"
  : Kind extends "ref"
    ? MembershipOf | { readonly readable: true }
    : ValueOf<Kind, Detail> | readonly ValueOf<Kind, Detail>[];

type ValueOf<Kind, Detail> = Kind extends "enum"
  ? Detail
  : Kind extends "string" | "decimal"
    ? string
    : Kind extends "number" | "integer"
      ? number
      : Kind extends "boolean"
        ? boolean
        : never;

type NullOf<Kind> = Kind extends "timestamp" | "date" | "json" ? never : null;

type Constant = string | number | boolean;
/** The person has a row in that table with the same reference. The table has one uuid column, the person. */
type MembershipOf = {
  readonly memberOf: string;
  readonly where?: { readonly [column: string]: Constant | readonly Constant[] | null };
};
