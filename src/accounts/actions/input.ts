/**
 * An input of an action: what people are told of it, and how it is read. A flag of its command (`bin/admin/task.ts`) and a
 * field of its form (`console/form_page.ts`) derive from it.
 *
 * @module
 */
import { Problem } from "../../problem.ts";
import { quote } from "../../std/quote.ts";

/** What people are told; the action checks the text. */
export type Field = {
  label: string;
  /** What to write. */
  hint?: string;
  /** What stands for the value in the help of a command. */
  placeholder: string;
  maxChars: number;
  isRequired?: true;
  /** Whether phones show the keys of an address. */
  isEmail?: true;
  /** The only values, each with its name in a form. */
  choices?: Readonly<Record<string, string>>;
  /** Values to choose from; any other can be typed. */
  suggestions?: readonly string[];
};

/** An input that is read before the action runs. */
export type Input<Value> = Field & {
  /** What the text must be. */
  rule: string;
  /** The value of a trimmed text; `undefined` if the text breaks the rule. */
  read: (text: string) => Value | undefined;
};

/** The value of what was typed for `name`. @throws {Problem} invalid_request — it breaks the rule */
export function readInput<Value>({ rule, read }: Input<Value>, name: string, text: string): Value {
  const value = read(text.trim());
  if (value !== undefined) return value;
  throw new Problem("invalid_request", {
    message: `Cannot read ${name} ${quote(text)}: must be ${rule}`,
  });
}
