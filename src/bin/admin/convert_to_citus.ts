/** `rowhouse admin convert-to-citus`: a database with rows, distributed over the nodes of a Citus cluster. @module */
import { SHARDS } from "../../db/mod.ts";
import { type ConversionPlan, convertToCitus, planConversion } from "../../push/mod.ts";
import { checkIsolation } from "../cli/database.ts";
import { readShards } from "../cli/shards.ts";
import { confirm, YES } from "./confirm.ts";
import { type AdminTask, makeAdminCommand } from "./task.ts";

const convertTask: AdminTask = async (deps, args) => {
  const text = args.text("shards");
  const shards = text === undefined ? SHARDS : readShards(text);
  await checkIsolation(deps.admin);
  const plan = await planConversion(deps.admin);
  await confirm(deps, args, {
    says: describe(plan, shards),
    question: "Type the name of the database to continue:",
    isYes: (answer) => answer === plan.database,
  });
  const tables = await convertToCitus(deps.admin, { shards }, deps.tell);
  return {
    document: { database: plan.database, shards, nodes: plan.nodes, tables },
    lines: [
      ...tables.map(
        ({ name, rows, apps }) => `${name}: ${show(rows, "row")} of ${show(apps, "app")}`,
      ),
      `The database ${plan.database} is distributed over ${show(plan.nodes.length, "node")}; restarting the processes that serve is not necessary`,
    ],
  };
};

function describe({ database, nodes, tables, processes }: ConversionPlan, shards: number): string {
  const serving =
    processes === 0 ? "" : `, which ${show(processes, "process", "processes")} served a moment ago`;
  return [
    `The database ${database}${serving}, will be distributed over ${nodes.join(", ")} with the rows of ${show(tables.length, "table")}, in ${show(shards, "shard")}, a number that cannot be changed.`,
    "Until it is done, whoever reads or writes rows waits, and is answered 503 after 30 seconds; pushes wait, too.",
    "It happens in one transaction: whole, or not at all. The way back is a dump (docs/scaling.md).",
  ].join(" ");
}

function show(count: number | string, one: string, many = `${one}s`): string {
  return `${count} ${String(count) === "1" ? one : many}`;
}

export const adminConvertCommands = [
  makeAdminCommand(
    {
      name: "admin convert-to-citus",
      example: "rowhouse admin convert-to-citus --shards 32",
      about: `Checks nodes and tables first and lists every fault; says what will happen, and asks for the database's name. One
transaction: what fails leaves the database as it was. Each app's rows of each table are counted before and after.
Needs a superuser. A database without apps' tables needs migrate --citus only.
Prints { database, shards, nodes, tables: [{ name, rows, apps }] } with --json.`,
      positionals: [],
      flags: {
        ...YES,
        shards: {
          value: "number",
          about: `the number of shards, which cannot be changed later (default ${SHARDS})`,
        },
      },
    },
    convertTask,
  ),
];
