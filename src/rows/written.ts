/** What an import or its undo wrote. @module */
import { inDigits } from "../std/count.ts";

export type Written = {
  readonly created: number;
  readonly changed: number;
  readonly deleted: number;
};

/** A row that an undo leaves as it is. */
export type Kept = { readonly id: string; readonly label: string; readonly why: string };

/** The response to a step of an undo. */
export type UndoAnswer = {
  readonly act: string;
  /** Of all steps of the act. */
  readonly total: Written;
  /** In this step. */
  readonly kept: readonly Kept[];
  /** Changes that are not undone yet: those older than `before`, or all; and why, unless only the time was over. */
  readonly rest:
    | { readonly before: number | undefined; readonly why?: string | undefined }
    | undefined;
};

export function nameWritten(written: Written): string {
  const parts = (["created", "changed", "deleted"] as const).filter((name) => written[name] > 0);
  return parts.map((name) => `${inDigits(written[name])} ${name}`).join(", ") || "nothing stored";
}
