/** The steps of a push, and the plan that lists them. @module */
import type { Constraint, RecordedDefinition } from "../catalog/mod.ts";
import type { NamedColumn, TableDefinition } from "../dsl/mod.ts";
import type { Conflict } from "./conflicts.ts";

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
  /** Only changes functions. */
  | { kind: "set_on_update"; table: TableDefinition; column: NamedColumn }
  | { kind: "set_required"; table: string; column: string; required: boolean }
  | { kind: "add_key"; table: string; key: Constraint }
  | { kind: "add_index"; table: string; index: Constraint }
  /** Built after the push, without locking the table. */
  | { kind: "defer_index"; table: string; index: Constraint }
  | {
      kind: "add_reference";
      table: TableDefinition;
      column: NamedColumn;
      /** `no`: the table is new and empty. `later`: a separate step after the push. */
      validate: "no" | "now" | "later";
      /** Whether the column has a reference with another `onDelete`. */
      isReplaced: boolean;
    }
  | { kind: "defer_reference"; table: string; reference: Constraint }
  /** For a column set that an app uses. */
  | { kind: "create_functions"; table: TableDefinition }
  | {
      kind: "drop_functions";
      table: string;
      /** The column sets whose functions are dropped. */
      hashes: readonly string[];
      /** The column sets that apps no longer use, whose records are removed too. */
      removed: readonly { appId: string; hash: string }[];
    }
  /** Renames a table or a column, with all names derived from it. */
  | {
      kind: "rename";
      table: RecordedDefinition;
      before: RecordedDefinition;
      column?: { from: string; to: string };
    }
  | { kind: "drop_column"; table: string; column: NamedColumn }
  | { kind: "drop_table"; table: RecordedDefinition }
  /** The label remains in PostgreSQL's type, under a name that no value can have. */
  | { kind: "drop_enum_value"; table: string; column: string; value: string; label: string }
  /** Replaces the column by a copy with another type. */
  | { kind: "swap_column"; appId: string; table: string; before: NamedColumn; column: NamedColumn }
  | { kind: "record_table"; table: RecordedDefinition }
  /** All current and former declarations of the app for the table; `shares`: it starts to use another app's table. */
  | { kind: "register"; table: TableDefinition; shares?: true }
  /** Removes the records of the table from before an explicit change. */
  | { kind: "record_change"; table: string };

export type Plan = { steps: Step[]; conflicts: Conflict[]; notes: string[] };
