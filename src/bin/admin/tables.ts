/** `rowhouse admin` on apps' tables: who owns one, who no longer uses one, which one is dropped. @module */
import {
  dropTable,
  type EndedUse,
  endRegistration,
  findEndedUse,
  transferTable,
} from "../../accounts/apps/mod.ts";
import type { Database } from "../../db/mod.ts";
import type { Arguments } from "../cli/command.ts";
import { checkIsolation } from "../cli/database.ts";
import { confirm, YES } from "./confirm.ts";
import { type AdminDeps, type AdminResult, type AdminTask, makeAdminCommand } from "./task.ts";

const transferTableTask: AdminTask = async (deps, args) => {
  const [table = "", slug = ""] = args.positionals;
  const from = await transferTable(deps, { table, slug });
  return {
    document: { table, from, to: slug },
    lines: [
      from === slug
        ? `${table} belongs to ${slug} already`
        : `${table} belongs to ${slug} now; before, it belonged to ${from}`,
    ],
  };
};

const endRegistrationTask: AdminTask = async (deps, args) => {
  const [slug = "", table = ""] = args.positionals;
  await checkIsolation(deps.admin);
  return await deps.withRows(
    async (rows) => await endUse({ ...deps, rows }, args, { slug, table }),
  );
};

async function endUse(
  deps: AdminDeps & { rows: Database },
  args: Arguments,
  { slug, table }: { slug: string; table: string },
): Promise<AdminResult> {
  const found = await findEndedUse(deps, { slug, table });
  const [that, it] = found.length === 1 ? ["that table", "it"] : ["those tables", "them"];
  await confirm(deps, args, {
    says: `${slug} will be answered 404 for ${showCircle(found)}, and its ${showRows(found)} of ${that} will be deleted. The ${showTables(found)} and other apps' rows stay; a push of ${slug} registers ${it} again.`,
    question: "Continue? [y/N]",
    isYes: (answer) => /^y(es)?$/i.test(answer),
  });
  const ended = await endRegistration(deps, { slug, table, told: namesOf(found) });
  return {
    document: { app: slug, tables: ended },
    lines: [`${slug} no longer uses ${namesOf(ended).join(", ")}; ${showRows(ended)} deleted`],
  };
}

const dropTableTask: AdminTask = async (deps, args) => {
  const [table = ""] = args.positionals;
  await checkIsolation(deps.admin);
  const found = await dropTable(deps, { table });
  const owners = [...new Set(found.map(({ owner }) => owner))].join(", ");
  await confirm(deps, args, {
    says: `The ${showTables(found)} ${showCircle(found)}, which ${owners} owned and no app uses, will be dropped with every row that is left in ${found.length === 1 ? "it. The name is" : "them. The names are"} free then; migrations that made ${found.length === 1 ? "it" : "them"} stay in their journals.`,
    question: "Type the name of the table to continue:",
    isYes: (answer) => answer === table,
  });
  const dropped = await dropTable(deps, { table, told: namesOf(found) });
  return {
    document: { tables: dropped },
    lines: [
      `Dropped ${namesOf(dropped).join(", ")}; any app may push ${dropped.length === 1 ? "a table of that name" : "tables of those names"} now`,
    ],
  };
};

type Named = readonly { readonly name: string }[];

function namesOf(tables: Named): string[] {
  return tables.map(({ name }) => name);
}

function showTables(tables: Named): string {
  return tables.length === 1 ? "table" : "tables";
}

/** The names, and why there is more than the one that was asked for. */
function showCircle(tables: Named): string {
  const names = namesOf(tables).join(", ");
  return tables.length === 1 ? names : `${names} (they refer to each other)`;
}

function showRows(tables: readonly EndedUse[]): string {
  const count = tables.reduce((sum, { rows }) => sum + rows, 0);
  return `${count} ${count === 1 ? "row" : "rows"}`;
}

export const adminTableCommands = [
  makeAdminCommand(
    {
      name: "admin transfer-table",
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
      example: "rowhouse admin end-registration wiki todos",
      about: `Says what goes and what stays, and asks. The owner's use ends last: transfer the table while others use it.
Tables that refer to each other in a circle go together. Refused while another table of the app refers to them.
Prints { app, tables: [{ name, rows }] } with --json.`,
      positionals: ["slug", "table"],
      flags: YES,
    },
    endRegistrationTask,
  ),
  makeAdminCommand(
    {
      name: "admin drop-table",
      example: "rowhouse admin drop-table todos",
      about: `Asks for the table's name. The name is free then, for any app. Tables that refer to each other in a circle go
together. Refused while an app uses one of them or another table refers to them.
Prints { tables: [{ name, owner }] } with --json.`,
      positionals: ["table"],
      flags: YES,
    },
    dropTableTask,
  ),
];
