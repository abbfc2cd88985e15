/** `rowhouse admin transfer-table`: the one way by which a table changes its owner. @module */
import { transferTable } from "../../accounts/mod.ts";
import { type AdminTask, makeAdminCommand } from "./task.ts";

const transferTableTask: AdminTask = async (deps, args) => {
  const [table = "", slug = ""] = args.positionals;
  const from = await transferTable(deps, { table, slug });
  return {
    document: { table, from, to: slug },
    lines: [`${table} now belongs to ${slug}; before, it belonged to ${from}`],
  };
};

export const adminTableCommands = [
  makeAdminCommand(
    {
      name: "admin transfer-table",
      summary: "makes another app the owner of a table that it uses",
      example: "rowhouse admin transfer-table todos wiki",
      about: `The owner's pushes define the table; rows stay where they are. The new owner must have pushed the table before.
Prints { table, from, to } with --json.`,
      positionals: ["table", "slug"],
    },
    transferTableTask,
  ),
];
