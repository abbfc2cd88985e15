/** `rowhouse admin convert-to-citus`: distributes a database with its rows over the nodes of a Citus cluster. @module */
import { SHARDS } from "../../db/mod.ts";
import { type ConversionPlan, convertToCitus, planConversion } from "../../push/mod.ts";
import { checkIsolation } from "../cli/database.ts";
import { readShards } from "../cli/settings.ts";
import { showCount } from "../cli/terminal.ts";
import { confirm, YES } from "./confirm.ts";
import { type AdminTask, makeAdminCommands } from "./task.ts";

const convertTask: AdminTask = async (deps, args) => {
  const text = args.text("shards");
  const shards = text === undefined ? SHARDS : readShards(text);
  await checkIsolation(deps.admin);
  const plan = await planConversion(deps.admin);
  await confirm(deps, args, {
    message: describe(plan, shards),
    question: "Type the name of the database to continue:",
    isYes: (reply) => reply === plan.database,
  });
  const tables = await convertToCitus(deps.admin, { shards }, deps.report);
  return {
    document: { database: plan.database, shards, nodes: plan.nodes, tables },
    lines: [
      ...tables.map(
        ({ name, rows, apps }) => `${name}: ${showCount(rows, "row")} of ${showCount(apps, "app")}`,
      ),
      `The database ${plan.database} is distributed over ${showCount(plan.nodes.length, "node")}; serving processes need no restart`,
    ],
  };
};

function describe({ database, nodes, tables, processes }: ConversionPlan, shards: number): string {
  const serving =
    processes === 0
      ? ""
      : `, which ${showCount(processes, "process", "processes")} used a moment ago`;
  return [
    `The database ${database}${serving}, will be distributed over ${nodes.join(", ")} with the rows of ${showCount(tables.length, "table")}, in ${showCount(shards, "shard")}. The number of shards cannot be changed.`,
    "Until then, reads and writes of rows wait and get a 503 response after 30 seconds; pushes wait too.",
    "It is one transaction: all or nothing. To undo it, restore a dump (docs/scaling.md).",
  ].join(" ");
}

export const adminConvertCommands = makeAdminCommands({
  "convert-to-citus": {
    example: "rowhouse admin convert-to-citus --shards 16",
    about: `Checks nodes and tables first and lists all errors. Then shows what will happen and asks for the name of the database.
It is one transaction: if it fails, the database is unchanged. It counts the rows of each app and table before and after.
Requires a superuser. For a database without apps' tables, migrate --citus is enough.
Prints { database, shards, nodes, tables: [{ name, rows, apps }] } with --json.`,
    flags: {
      ...YES,
      shards: {
        value: "number",
        about: `the number of shards, which cannot be changed later (default ${SHARDS})`,
      },
    },
    task: convertTask,
  },
});
