/** `rowhouse admin move-database`: the rows of a database of another baseline in a new database of this release. @module */

import { count, flag, many, record, text } from "../../records/actions/mod.ts";
import { showCount } from "../../std/count.ts";
import { quote } from "../../std/quote.ts";
import { moveDatabase } from "../move/move.ts";
import { command, typed } from "./command.ts";
import { makeAdminCommands } from "./task.ts";

export const adminMoveDatabaseCommands = makeAdminCommands({
  "move-database": command("moves a database that an earlier build set up to a new database", {
    example: `rowhouse admin move-database rowhouse_next --dry-run
rowhouse admin move-database rowhouse_next`,
    about: `For a database that migrate rejects, because a build before 0.1.0 set it up. Copies everything to a new database in the same
cluster: apps, keys, people, passwords, factors, sessions, migrations, tables and rows. Then compares the number and a digest of
the rows of each table. The old database is only read. Stop its processes first.

The command creates the new database. One that exists must be without tables, schemas and other objects, and without sessions. If
the command stops, the new database is not served, and the command starts over in it when you run it again. Every other
database is rejected and not changed. --dry-run checks the new database without changing it, and compares with a temporary
database rowhouse_dry_run_… that it creates and drops.

Apps' tables are created as pushes recorded them, and code that anyone left in the schemas data and api stays behind and
is listed. Reading and writing rows uses temporary logins that can only push. Keep IDENTITY_SECRET and PREVIEW. A database
of several nodes is moved by a dump.`,
    args: { database: typed },
    flags: {
      "dry-run": { about: "counts the rows of each table and lists what cannot be moved" },
      "allow-sessions": {
        about: "moves although other sessions, which only read, use the old database",
      },
    },
    isForOlder: true,
    json: {
      from: text(),
      database: text(),
      isDryRun: flag(),
      tables: many(record({ name: text(), rows: count() })),
      leftBehind: many(text()),
    },
    run: async (
      { address, config, report },
      { database, "dry-run": isDryRun, "allow-sessions": allowsSessions },
    ) => {
      const moving = { address, config, name: database, isDryRun, allowsSessions, report };
      const moved = await moveDatabase(moving);
      const rows = moved.tables.reduce((sum, table) => sum + table.rows, 0);
      return {
        document: { ...moved, leftBehind: [...moved.leftBehind], database, isDryRun },
        lines: isDryRun
          ? [
              ...moved.tables.map(({ name, rows: has }) => `${name}: ${showCount(has, "row")}`),
              ...moved.leftBehind.map((line) => `Not moved: ${line}`),
              `${showCount(rows, "row")} of the database ${quote(moved.from)} can be moved`,
            ]
          : [
              `Moved ${showCount(rows, "row")} to the database ${quote(database)}, and compared them with ${quote(moved.from)}`,
              `Next, write ${database} instead of ${moved.from} in the addresses of all settings, start the processes and run rowhouse doctor --operator`,
              `The database ${quote(moved.from)} is unchanged: drop it when you no longer need it`,
            ],
      };
    },
  }),
});
