/** The steps that a push can take, and the plan that lists them. @module */
import type { Constraint, RecordedDefinition } from "../catalog/mod.ts";
import type { NamedColumn, TableDefinition } from "../dsl/mod.ts";
import type { Conflict } from "./compare.ts";

/** One change to the database. */
export type Step =
  | { kind: "create_table"; table: TableDefinition }
  | {
      kind: "add_enum_value";
      table: string;
      column: string;
      value: string;
      before: string | undefined;
    }
  | { kind: "add_column"; table: TableDefinition; column: NamedColumn }
  | { kind: "set_default"; table: TableDefinition; column: NamedColumn }
  | { kind: "set_required"; table: string; column: string; required: boolean }
  | { kind: "add_key"; table: string; key: Constraint }
  | { kind: "add_index"; table: string; index: Constraint }
  /** Built after the push, without locking the table. */
  | { kind: "defer_index"; table: string; index: Constraint }
  | {
      kind: "add_reference";
      table: TableDefinition;
      column: NamedColumn;
      /** `no`: the table is new and has no rows. `later`: a step of its own, after the push. */
      validate: "no" | "now" | "later";
    }
  | { kind: "defer_reference"; table: string; reference: Constraint }
  /** Of the set of columns that an app is served. */
  | { kind: "create_functions"; table: TableDefinition }
  | {
      kind: "drop_functions";
      table: string;
      /** The sets whose functions are dropped. */
      hashes: readonly string[];
      /** The sets that apps no longer use, which are forgotten too. */
      gone: readonly { appId: string; hash: string }[];
    }
  /** A table or a column of it under another name, with everything that is named after it. */
  | {
      kind: "rename";
      table: RecordedDefinition;
      before: RecordedDefinition;
      column?: { from: string; to: string };
    }
  | { kind: "drop_column"; table: string; column: NamedColumn }
  | { kind: "drop_table"; table: RecordedDefinition }
  /** The label stays in PostgreSQL's type, under a name that no value can have. */
  | { kind: "drop_enum_value"; table: string; column: string; value: string; label: string }
  /** A copy of the column with another type takes its place. */
  | { kind: "swap_column"; appId: string; table: string; before: NamedColumn; column: NamedColumn }
  | { kind: "record_table"; table: RecordedDefinition }
  /** Everything that the app declares or has declared of the table; `shares`: another app owns it, and this is the first time. */
  | { kind: "register"; table: TableDefinition; shares?: true }
  /** Forgets what the record still has of the table as it was before an explicit change. */
  | { kind: "record_change"; table: string };

/** What a push would do, why it cannot, and what a person should know about it. */
export type Plan = { steps: Step[]; conflicts: Conflict[]; notes: string[] };
