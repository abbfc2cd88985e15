/**
 * An input of an action: its texts, its limits and its parser. A command's flag (`cli/admin/command.ts`) and a form's field
 * (`pages/form.tsx`) derive from it.
 *
 * @module
 */
import { Problem } from "./problem.ts";
import { quote } from "./std/quote.ts";

/** The texts of an input; the action validates the value. */
export type Field = {
  label: string;
  /** The expected input, with code between backticks. */
  hint?: string;
  /** The placeholder of the value in the command's help. */
  placeholder: string;
  maxLength: number;
  /** Whether a form can leave it empty. */
  isOptional?: boolean;
  /** Selects the on-screen keyboard of a phone. */
  inputMode?: "numeric" | "email";
  /** All allowed values, each with its label in a form. */
  choices?: Readonly<Record<string, string>>;
  /** Suggested values; other values are allowed. */
  suggestions?: readonly string[];
};

export type Parser<Value> = {
  /** Completes the message "must be …". */
  rule: string;
  /** The value of a trimmed text; `undefined` if the text breaks the rule. */
  read: (text: string) => Value | undefined;
};
/** An input that is parsed before the action runs. */
export type Input<Value> = Field & Parser<Value>;

/** @throws {Problem} invalid_request — the text breaks the rule */
export function readInput<Value>({ rule, read }: Parser<Value>, name: string, text: string): Value {
  const value = read(text.trim());
  if (value !== undefined) return value;
  throw new Problem("invalid_request", {
    message: `Cannot read ${name} ${quote(text)}: must be ${rule}`,
  });
}

/** A choice of one of these values, each with its label in a form. */
export function oneOfChoices<const Value extends string>(choices: Readonly<Record<Value, string>>) {
  const values = Object.keys(choices) as Value[];
  const read = (text: string) => values.find((value) => value === text);
  return { choices, rule: `one of ${values.join(", ")}`, read };
}
