/** `rowhouse admin convert-to-citus`: distributes a database with its rows over the nodes of a Citus cluster. @module */
import { count, many, record, text } from "../../accounts/actions/mod.ts";
import { SHARDS } from "../../db/mod.ts";
import { type ConversionPlan, convertToCitus, planConversion } from "../../push/mod.ts";
import { checkIsolation } from "../cli/database.ts";
import { readShards } from "../cli/settings.ts";
import { showCount } from "../cli/terminal.ts";
import { command } from "./command.ts";
import { confirm, YES } from "./confirm.ts";
import { makeAdminCommands } from "./task.ts";

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
  "convert-to-citus": command(
    "distributes a database with its rows over the nodes of a Citus cluster",
    {
      example: "rowhouse admin convert-to-citus --shards 16",
      about: `Checks nodes and tables first and lists all errors. Then shows what will happen and asks for the name of the database.
It is one transaction: if it fails, the database is unchanged. It counts the rows of each app and table before and after.
Requires a superuser. For a database without apps' tables, migrate --citus is enough.`,
      flags: {
        ...YES,
        shards: {
          value: "number",
          about: `the number of shards, which cannot be changed later (default ${SHARDS})`,
        },
      },
      json: {
        database: text(),
        shards: count(),
        nodes: many(text()),
        tables: many(record({ name: text(), rows: text(), apps: count() })),
      },
      run: async (deps, { shards: typed, yes }) => {
        const shards = typed === undefined ? SHARDS : readShards(typed);
        await checkIsolation(deps.admin);
        const { database, nodes, ...plan } = await planConversion(deps.admin);
        await confirm(deps, yes, {
          message: describe({ database, nodes, ...plan }, shards),
          question: "Type the name of the database to continue:",
          isYes: (reply) => reply === database,
        });
        const tables = await convertToCitus(deps.admin, { shards }, deps.report);
        return {
          document: { database, shards, nodes, tables },
          lines: [
            ...tables.map(
              ({ name, rows, apps }) =>
                `${name}: ${showCount(rows, "row")} of ${showCount(apps, "app")}`,
            ),
            `The database ${database} is distributed over ${showCount(nodes.length, "node")}; serving processes need no restart`,
          ],
        };
      },
    },
  ),
});
