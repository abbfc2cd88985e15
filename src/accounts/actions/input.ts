/**
 * An input of an action: its texts and its parser. The command's flag (`bin/admin/task.ts`) and the form's field
 * (`console/form_page.ts`) derive from it.
 *
 * @module
 */
import { Problem } from "../../problem.ts";
import { quote } from "../../std/quote.ts";

/** The texts of an input; the action validates the value. */
export type Field = {
  label: string;
  /** The expected input. */
  hint?: string;
  /** The placeholder of the value in the command's help. */
  placeholder: string;
  maxChars: number;
  isRequired?: true;
  /** Whether phones show the keyboard for email addresses. */
  isEmail?: true;
  /** All allowed values, each with its label in a form. */
  choices?: Readonly<Record<string, string>>;
  /** Suggested values; other values are allowed. */
  suggestions?: readonly string[];
};

/** An input that is parsed before the action runs. */
export type Input<Value> = Field & {
  /** Completes the message "must be …". */
  rule: string;
  /** The value of a trimmed text; `undefined` if the text breaks the rule. */
  read: (text: string) => Value | undefined;
};

/** @throws {Problem} invalid_request — the text breaks the rule */
export function readInput<Value>({ rule, read }: Input<Value>, name: string, text: string): Value {
  const value = read(text.trim());
  if (value !== undefined) return value;
  throw new Problem("invalid_request", {
    message: `Cannot read ${name} ${quote(text)}: must be ${rule}`,
  });
}
