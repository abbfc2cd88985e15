/**
 * `rowhouse admin` commands that list tables and pushes, transfer a table, end an app's use of a table, and drop a table.
 *
 * @module
 */

import type { Database } from "../../db/mod.ts";
import { count, many, record, text } from "../../records/actions/mod.ts";
import {
  dropTable,
  type EndedUse,
  endRegistration,
  findEndedUse,
  TABLE_ACTIONS,
} from "../../records/apps/mod.ts";
import { pushList, tableList } from "../../records/console/mod.ts";
import { showCount } from "../../std/count.ts";
import { findTableDifferences } from "../../tables/mod.ts";
import { checkIsolation } from "../database.ts";
import { confirm, YES } from "../terminal.ts";
import { makeActionCommands, ON_TABLE } from "./action_command.ts";
import { command, makeListCommand, typed } from "./command.ts";
import { type AdminDeps, makeAdminCommands } from "./task.ts";

async function endUse(
  deps: AdminDeps & { rows: Database },
  isConfirmed: boolean,
  { slug, table }: { slug: string; table: string },
) {
  const found = await findEndedUse(deps, { slug, table });
  const [that, it] = found.length === 1 ? ["that table", "it"] : ["those tables", "them"];
  await confirm(deps, isConfirmed, {
    message: `${slug} will get 404 responses for ${showCircle(found)}, and its ${showRows(found)} in ${that} will be deleted. The ${showTables(found)} and other apps' rows stay; a push of ${slug} registers ${it} again.`,
  });
  const ended = await endRegistration(deps, { slug, table, expected: namesOf(found) });
  return {
    document: { app: slug, tables: ended },
    lines: [`${slug} no longer uses ${namesOf(ended).join(", ")}; ${showRows(ended)} deleted`],
  };
}

type Named = readonly { readonly name: string }[];

function namesOf(tables: Named): string[] {
  return tables.map(({ name }) => name);
}

function showTables(tables: Named): string {
  return tables.length === 1 ? "table" : "tables";
}

/** The names, and the reason if there are several. */
function showCircle(tables: Named): string {
  const names = namesOf(tables).join(", ");
  return tables.length === 1 ? names : `${names} (they reference each other)`;
}

function showRows(tables: readonly EndedUse[]): string {
  return showCount(
    tables.reduce((sum, { rows }) => sum + rows, 0),
    "row",
  );
}

export const adminTableCommands = makeAdminCommands({
  "list-pushes": makeListCommand(pushList, {
    summary: "lists the pushes of an app, newest first",
    example: "rowhouse admin list-pushes wiki --json",
    about: "The key is null if an operator pushed.",
    limit: 50,
    lines: {
      key: ({ key }) => (key === null ? "by an operator" : `by key ${key.keyId}  ${key.name}`),
    },
    none: (slug) => `App ${slug} has no pushes yet`,
  }),
  "list-tables": makeListCommand(tableList, {
    summary: "lists the tables of all apps, or of one app, with their owners and sizes",
    example: "rowhouse admin list-tables\nrowhouse admin list-tables --app wiki --json",
    about: `Rows include all apps. Rows and bytes are estimates from PostgreSQL statistics, and null before the first ANALYZE.
With --app, columns lists only those that the app declares. differences counts the differences from the pushed schema.`,
    limit: 100,
    lines: {
      columns: ({ columns }) => showCount(columns.length, "column"),
      differences: ({ differences }) =>
        differences === 0 ? "" : showCount(differences, "difference"),
    },
    own: {
      columns: { differences: count() },
      read: (_, table) => ({ differences: findTableDifferences(table).length }),
    },
    none: (slug) => (slug === "" ? "No tables yet" : `App ${slug} has no tables yet`),
  }),
  ...makeActionCommands(ON_TABLE, TABLE_ACTIONS),
  "end-registration": command("ends an app's use of a table and deletes the app's rows in it", {
    example: "rowhouse admin end-registration wiki todos",
    about: `Shows what will be deleted and what stays, and asks for confirmation. While other apps use the table, its owner must
transfer it first. Tables that reference each other are removed together. Fails while another table of the app references them.`,
    args: { slug: typed, table: typed },
    flags: YES,
    json: { app: text(), tables: many(record({ name: text(), rows: count() })) },
    run: async (deps, { yes, ...named }) => {
      await checkIsolation(deps.admin);
      return await deps.withRows((rows) => endUse({ ...deps, rows }, yes, named));
    },
  }),
  "drop-table": command("drops a table that no app uses", {
    example: "rowhouse admin drop-table todos",
    about: `Asks for the name of the table. Any app can then use the name. Tables that reference each other are dropped together.
Fails while an app uses one of them or another table references them.`,
    args: { table: typed },
    flags: YES,
    json: { tables: many(record({ name: text(), owner: text() })) },
    run: async (deps, { table, yes }) => {
      await checkIsolation(deps.admin);
      const found = await dropTable(deps, { table });
      const owners = [...new Set(found.map(({ owner }) => owner))].join(", ");
      await confirm(deps, yes, {
        message: `The ${showTables(found)} ${showCircle(found)}, which ${owners} owned and no app uses, will be dropped with all remaining rows. Any app can then use the ${found.length === 1 ? "name" : "names"}. The migrations that created ${found.length === 1 ? "it" : "them"} stay recorded.`,
        question: "Type the name of the table to continue:",
        isYes: (reply) => reply === table,
      });
      const dropped = await dropTable(deps, { table, expected: namesOf(found) });
      return {
        document: { tables: dropped },
        lines: [
          `Dropped ${namesOf(dropped).join(", ")}; any app can now push ${dropped.length === 1 ? "a table with that name" : "tables with those names"}`,
        ],
      };
    },
  }),
});
