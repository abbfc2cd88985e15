/** Display names of people. @module */
import { Problem } from "../../problem.ts";

export const NAME_MAX_CHARS = 200;
/** Rejects lone surrogates and characters that break a line or change the direction of adjacent text. */
const NAME = new RegExp(`^[^\\p{Cc}\\p{Surrogate}\\p{Bidi_Control}]{0,${NAME_MAX_CHARS}}$`, "u");
const VISIBLE = /[^\s\p{Default_Ignorable_Code_Point}]/u;

/** Whether the name is empty, or is visible on one line. */
export function isDisplayName(name: string): boolean {
  return NAME.test(name) && (name === "" || VISIBLE.test(name));
}

/** @throws {Problem} invalid_request — it is too long or invisible, or has control characters */
export function checkDisplayName(name: string): void {
  if (isDisplayName(name)) return;
  throw new Problem("invalid_request", {
    message: `The name must have at most ${NAME_MAX_CHARS} visible characters on one line, without control characters`,
  });
}
