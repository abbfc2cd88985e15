/** `rowhouse admin convert-to-citus` and `move-app`: a database, and an app, on the nodes of a Citus cluster. @module */

import { SHARDS } from "../../db/mod.ts";
import { count, flag, many, record, text } from "../../records/actions/mod.ts";
import { moveApp } from "../../records/apps/mod.ts";
import { showCount } from "../../std/count.ts";
import { type ConversionPlan, convertDatabase, planConversion } from "../../tables/mod.ts";
import { UsageError } from "../command.ts";
import { checkIsolation } from "../database.ts";
import { readShards } from "../settings.ts";
import { confirm, YES } from "../terminal.ts";
import { command, typed } from "./command.ts";
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

export const adminClusterCommands = makeAdminCommands({
  "move-app": command("moves an app to another node of a Citus cluster", {
    example: "rowhouse admin move-app wiki --to 10.0.0.3:5432",
    about: `Moves the app's rows, the proofs of its keys and its stored idempotent responses. An app that shares a shard first gets its
own shard; writes of the other apps on the shard wait too. Writes wait while rows are copied; reads continue. The wait grows
with the number of tables in the database, up to 0.3 s each: the move is rejected if writes could wait longer than 30 s, unless
--accept-timeouts is set. Requires a superuser. If it fails, repeat the command to continue.`,
    args: { slug: typed },
    flags: {
      to: { value: "host:port", about: "the node, as listed in citus_nodes" },
      "accept-timeouts": {
        about: "moves the app even if writes can wait longer than 30 s and fail",
      },
    },
    json: { app: text(), from: text(), to: text(), isIsolated: flag() },
    run: async (deps, { slug, to, "accept-timeouts": acceptsTimeouts }) => {
      if (to === undefined) throw new UsageError("Missing node: add --to <host:port>");
      await checkIsolation(deps.admin);
      const { from, isIsolated } = await moveApp(deps, { slug, to, acceptsTimeouts });
      const isolation = isIsolated ? "; it no longer shares a shard with other apps" : "";
      return {
        document: { app: slug, from, to, isIsolated },
        lines: [`Moved app ${slug} from ${from} to ${to}${isolation}`],
      };
    },
  }),
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
          about: "the number of shards, which cannot be changed later",
          default: String(SHARDS),
        },
      },
      json: {
        database: text(),
        shards: count(),
        nodes: many(text()),
        tables: many(record({ name: text(), rows: text(), apps: count() })),
      },
      run: async (deps, { shards: given, yes }) => {
        const shards = readShards(given);
        await checkIsolation(deps.admin);
        const { database, nodes, ...plan } = await planConversion(deps.admin);
        await confirm(deps, yes, {
          message: describe({ database, nodes, ...plan }, shards),
          question: "Type the name of the database to continue:",
          isYes: (reply) => reply === database,
        });
        const tables = await convertDatabase(deps.admin, { shards }, deps.report);
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
