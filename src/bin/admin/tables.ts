/** `rowhouse admin` on apps' tables: who owns one, who no longer uses one, which one is dropped. @module */
import { dropTable, endRegistration, transferTable } from "../../accounts/mod.ts";
import { type Arguments, type Flags, RefusedError } from "../cli/command.ts";
import { type AdminDeps, type AdminTask, makeAdminCommand } from "./task.ts";

const transferTableTask: AdminTask = async (deps, args) => {
  const [table = "", slug = ""] = args.positionals;
  const from = await transferTable(deps, { table, slug });
  return {
    document: { table, from, to: slug },
    lines: [`${table} belongs to ${slug} now; before, it belonged to ${from}`],
  };
};

const endRegistrationTask: AdminTask = async (deps, args) => {
  const [slug = "", table = ""] = args.positionals;
  const found = await endRegistration(deps, { slug, table, isTold: true });
  await confirm(deps, args, {
    says: `${slug} will be answered 404 for ${table}, and its ${showRows(found)} of that table will be deleted. The table and other apps' rows stay; a push of ${slug} registers it again.`,
    question: "Continue? [y/N]",
    isYes: (answer) => /^y(es)?$/i.test(answer),
  });
  const rows = await endRegistration(deps, { slug, table, isTold: false });
  return {
    document: { app: slug, table, rows },
    lines: [`${slug} no longer uses ${table}; ${showRows(rows)} deleted`],
  };
};

const dropTableTask: AdminTask = async (deps, args) => {
  const [table = ""] = args.positionals;
  const found = await dropTable(deps, { table, isTold: true });
  await confirm(deps, args, {
    says: `The table ${table}, which ${found} owned and no app uses, will be dropped with every row that is left in it. The name is free then; migrations that made it stay in their journals.`,
    question: "Type the name of the table to continue:",
    isYes: (answer) => answer === table,
  });
  const owner = await dropTable(deps, { table, isTold: false });
  return {
    document: { table, owner },
    lines: [`Dropped ${table}; any app may push a table of that name now`],
  };
};

type Confirmation = { says: string; question: string; isYes: (answer: string) => boolean };

/** @throws {RefusedError} the answer is not the expected one, or nobody can be asked */
async function confirm(
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

function showRows(count: number): string {
  return `${count} ${count === 1 ? "row" : "rows"}`;
}

const YES: Flags = { yes: { about: "do it without asking" } };

export const adminTableCommands = [
  makeAdminCommand(
    {
      name: "admin transfer-table",
      summary: "makes another app the owner of a table that it uses",
      example: "rowhouse admin transfer-table todos wiki",
      about: `The owner's pushes define the table; rows stay where they are. The new owner has pushed the table before.
Prints { table, from, to } with --json.`,
      positionals: ["table", "slug"],
    },
    transferTableTask,
  ),
  makeAdminCommand(
    {
      name: "admin end-registration",
      summary: "ends an app's use of a table and deletes its rows of it",
      example: "rowhouse admin end-registration wiki todos",
      about: `Says what goes and what stays, and asks. The owner's use ends last: transfer the table while others use it.
Refused while another table of the app refers to it. Prints { app, table, rows } with --json.`,
      positionals: ["slug", "table"],
      flags: YES,
    },
    endRegistrationTask,
  ),
  makeAdminCommand(
    {
      name: "admin drop-table",
      summary: "drops a table that no app uses any more",
      example: "rowhouse admin drop-table todos",
      about: `Asks for the table's name. The name is free then, for any app. Refused while an app uses the table or another
table refers to it. Prints { table, owner } with --json.`,
      positionals: ["table"],
      flags: YES,
    },
    dropTableTask,
  ),
];
