/** `rowhouse admin` for what no command brings back: deleting a person. @module */
import { deleteUser, showUser } from "../../accounts/mod.ts";
import { confirm, YES } from "./confirm.ts";
import { type AdminTask, makeAdminCommand } from "./task.ts";

const deleteUserTask: AdminTask = async (deps, args) => {
  const { email, grants, sessions } = await showUser(deps, args.positionals[0] ?? "");
  await confirm(deps, args, {
    says: `The account ${email} will be deleted with its password, ${show(grants.length, "role")} and ${show(sessions.length, "session")}. What apps have stored about this person stays theirs; the audit log keeps the id, without the address. To lock the account instead: rowhouse admin disable ${email}.`,
    question: "Type the address to continue:",
    isYes: (answer) => answer.toLowerCase() === email,
  });
  const id = await deleteUser(deps, email);
  return {
    document: { id, email, deleted: true },
    lines: [`Deleted ${email} (${id})`],
  };
};

function show(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

export const adminDeleteCommands = [
  makeAdminCommand(
    {
      name: "admin delete-user",
      summary: "deletes a person's account, with roles and sessions",
      example: "rowhouse admin delete-user ada@example.org",
      about: `Says what goes and what stays, and asks for the address. The last super_admin cannot be removed.
Prints { id, email, deleted } with --json.`,
      positionals: ["email"],
      flags: YES,
    },
    deleteUserTask,
  ),
];
