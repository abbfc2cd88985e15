/** `rowhouse admin` commands that delete an app or a person permanently. @module */
import { count, flag, many, text } from "../../accounts/actions/mod.ts";
import { type AppContents, deleteApp, findAppContents } from "../../accounts/apps/mod.ts";
import { readEmail, runOnPerson, showUser } from "../../accounts/people/mod.ts";
import type { Database } from "../../db/mod.ts";
import { quoteForShell } from "../../std/quote_for_shell.ts";
import { checkIsolation } from "../cli/database.ts";
import { showCount } from "../cli/terminal.ts";
import { command, typed } from "./command.ts";
import { confirm, YES } from "./confirm.ts";
import { type AdminDeps, makeAdminCommands } from "./task.ts";

async function deleteAppOverRows(
  deps: AdminDeps & { rows: Database },
  isConfirmed: boolean,
  slug: string,
) {
  const contents = await findAppContents(deps, slug);
  await confirm(deps, isConfirmed, {
    message: describeApp(slug, contents),
    question: "Type the name of the app to continue:",
    isYes: (reply) => reply === slug,
  });
  const rows = await deleteApp(deps, slug);
  const tables = contents.tables.flatMap(({ name, isOwned }) => (isOwned ? [name] : []));
  return {
    document: { app: slug, id: contents.id, rows, tables },
    lines: [
      `Deleted app ${slug} with ${showCount(rows, "row")} and ${showCount(tables.length, "table")}`,
    ],
  };
}

/** The parts that are deleted and the parts that stay. */
function describeApp(slug: string, { id, tables, ...contents }: AppContents): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const list = (isOwned: boolean) =>
    tables.flatMap((table) =>
      table.isOwned === isOwned ? [`${table.name} (${showCount(table.rows, "row")})`] : [],
    );
  const [owned, others] = [list(true), list(false)];
  return [
    `The app ${slug} (${id}) will be deleted with ${showCount(contents.keys, "key")}, ${showCount(contents.grants, "grant")}, ${showCount(contents.targets, "origin or redirect", "origins and redirects")}, ${showCount(contents.migrations, "migration")} and ${showCount(rows, "row")}.`,
    ...(owned.length === 0
      ? []
      : [
          `It owns ${owned.join(", ")}, which no other app uses: these tables will be dropped, and any app can then use their names.`,
        ]),
    ...(others.length === 0
      ? []
      : [
          `Its rows in ${others.join(", ")} will be deleted; these tables and other apps' rows stay.`,
        ]),
    `People's accounts and the audit log stay. To keep the app and reject its keys instead: rowhouse admin set-app ${quoteForShell(slug)} disabled on.`,
  ].join(" ");
}

export const adminDeleteCommands = makeAdminCommands({
  "delete-app": command({
    example: "rowhouse admin delete-app wiki",
    about: `Shows what will be deleted and what stays, and asks for the app's name. Fails while another app uses a table that this
app owns: transfer the table first with admin transfer-table. Deletion has several steps, and the first one disables the
app. If a step fails, repeat the command to continue.`,
    args: { slug: typed },
    flags: YES,
    json: { app: text(), id: text(), rows: count(), tables: many(text()) },
    run: async (deps, { slug, yes }) => {
      await checkIsolation(deps.admin);
      return await deps.withRows((rows) => deleteAppOverRows({ ...deps, rows }, yes, slug));
    },
  }),
  "delete-user": command({
    example: "rowhouse admin delete-user ada@example.org",
    about: `Shows what will be deleted and what stays, and asks for the address. The last super_admin cannot be removed.`,
    args: { email: readEmail },
    flags: YES,
    json: { id: text(), email: text(), deleted: flag() },
    run: async (deps, { email, yes }) => {
      const { grants, sessions } = await showUser(deps, email);
      await confirm(deps, yes, {
        message: `The account ${email} will be deleted with its password, ${showCount(grants.length, "role")} and ${showCount(sessions.length, "session")}. Apps keep the rows that they store about this person; the audit log keeps the id, without the address. To lock the account instead: rowhouse admin disable ${quoteForShell(email)}.`,
        question: "Type the address to continue:",
        isYes: (reply) => reply.toLowerCase() === email,
      });
      const id = String(await runOnPerson(deps, "delete_user", email));
      return { document: { id, email, deleted: true }, lines: [`Deleted ${email} (${id})`] };
    },
  }),
});
