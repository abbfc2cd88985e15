/** Display names of people. @module */
import { Problem } from "../../problem.ts";

export const NAME_MAX_CHARS = 200;
/** Rejects characters that break a line or change the direction of adjacent text. */
const NAME = new RegExp(`^[^\\p{Cc}\\p{Bidi_Control}]{0,${NAME_MAX_CHARS}}$`, "u");

/** @throws {Problem} invalid_request — it is too long, or has control characters */
export function checkDisplayName(name: string): void {
  if (NAME.test(name)) return;
  throw new Problem("invalid_request", {
    message: `The name must have at most ${NAME_MAX_CHARS} characters on one line, without control characters`,
  });
}
