/** The TypeScript type of each column kind's values. Nothing here exists at run time. @module */
import type { Kind } from "./definition.ts";

/** The id of a row. Any string is accepted, except the id of a row of another table. */
export type Id<Table extends string> = string & { readonly "~table"?: Table };

/** A time as ISO 8601 text; JSON has no type for times. */
export type IsoTime = `${number}-${number}-${number}T${string}`;

/** The type of a column's values; `Detail` as in `Known`. */
export type ValuesByKind<Detail> = {
  string: string;
  number: number;
  decimal: string;
  boolean: boolean;
  uuid: string;
  timestamp: string;
  json: Detail;
  enum: Detail;
  ref: Detail extends string ? Id<Detail> : string;
};

/** The type that `.default()` accepts. A reference cannot have a default: its row would have to exist in every app. */
export type DefaultOf<K extends Kind, Detail> = K extends "ref"
  ? never
  : K extends "timestamp"
    ? "now" | IsoTime
    : NonNullable<ValuesByKind<Detail>[K]>;
