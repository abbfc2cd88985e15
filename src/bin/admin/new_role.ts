/** Asks before a command grants a role that no one has on the app. @module */
import { describeNewRole, listAppRoles } from "../../accounts/people/mod.ts";
import type { Flags } from "../cli/command.ts";
import { confirm } from "./confirm.ts";
import type { AdminDeps } from "./task.ts";

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
