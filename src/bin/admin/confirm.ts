/** What an operator is asked before something goes that no command brings back. @module */
import { type Arguments, type Flags, RefusedError } from "../cli/command.ts";
import type { AdminDeps } from "./task.ts";

export const YES: Flags = { yes: { about: "do it without asking" } };

/** What will happen, how to agree to it, and whether an answer does. */
export type Confirmation = { says: string; question: string; isYes: (answer: string) => boolean };

/** @throws {RefusedError} the answer is not the expected one, or no one can be asked */
export async function confirm(
  { ask }: AdminDeps,
  args: Arguments,
  { says, question, isYes }: Confirmation,
): Promise<void> {
  if (args.has("yes")) return;
  const answer = await ask(`${says} ${question}`);
  if (answer === undefined)
    throw new RefusedError(`${says} There is no terminal to ask on: add --yes`);
  if (!isYes(answer.trim())) throw new RefusedError("Nothing was changed");
}
