/** Asks the operator to confirm an action that no command can undo, or a role that no one has on the app. @module */
import { describeNewRole, listAppRoles } from "../../accounts/people/mod.ts";
import { type Flags, RejectedError } from "../cli/command.ts";
import type { AdminDeps } from "./task.ts";

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
  { ask }: AdminDeps,
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

export const NEW_ROLE = {
  "new-role": { about: "grants a role that no one has on the app yet, without a question" },
} as const satisfies Flags;

/** @throws {RejectedError} the operator does not confirm the new role */
export async function confirmNewRole(
  deps: AdminDeps,
  isConfirmed: boolean,
  { slug, role }: { slug: string; role: string },
): Promise<void> {
  if (isConfirmed) return;
  const rules = deps.config.providers.flatMap(({ roles }) => roles);
  const message = await describeNewRole({ slug, role, rules }, () => listAppRoles(deps, slug));
  if (message === undefined) return;
  await confirm(deps, isConfirmed, {
    message: message.endsWith("?") ? message : `${message}.`,
    question: `Create the role ${role}? [y/N]`,
    flag: "new-role",
  });
}
