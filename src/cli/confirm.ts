/** Asks the person to confirm an action that no command can undo, or one that may be a mistake. @module */
import { type Flags, RejectedError, type Terminal } from "./command.ts";

export const YES = { yes: { about: "do not ask for confirmation" } } as const satisfies Flags;

/** The effect, the question, and whether a reply confirms it. Defaults to a question with yes or no. */
type Confirmation = {
  message: string;
  question?: string;
  isYes?: (reply: string) => boolean;
  /** The flag that confirms it; default: `yes`. */
  flag?: string;
};

/** Asks unless a flag has confirmed. @throws {RejectedError} the reply does not confirm, or there is no terminal to ask on */
export async function confirm(
  { ask }: Pick<Terminal, "ask">,
  isConfirmed: boolean,
  {
    message,
    question = "Continue? [y/N]",
    isYes = (reply) => /^y(es)?$/i.test(reply),
    flag = "yes",
  }: Confirmation,
): Promise<void> {
  if (isConfirmed) return;
  const reply = await ask(`${message} ${question}`);
  if (reply === undefined)
    throw new RejectedError(
      `${message} Cannot ask for confirmation without a terminal: add --${flag}`,
    );
  if (!isYes(reply.trim())) throw new RejectedError("Nothing was changed");
}
