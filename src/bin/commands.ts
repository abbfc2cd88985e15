/**
 * The table of commands, in the order of the help. A command's module is imported only when the command runs, so the help
 * starts fast.
 *
 * @module
 */
import type { Command, CommandRow } from "./cli/command.ts";

/** Rows for the commands of one module, from their names and summaries. */
function fromModule(
  load: () => Promise<readonly Command[]>,
  summaries: Readonly<Record<string, string>>,
): CommandRow[] {
  return Object.entries(summaries).map(([name, summary]) => ({
    name,
    summary,
    load: async () => {
      const command = (await load()).find((command) => command.name === name);
      if (command === undefined) throw new Error(`No module has the command ${name}`);
      return command;
    },
  }));
}

export const COMMANDS: readonly CommandRow[] = [
  ...fromModule(async () => [(await import("./dev/mod.ts")).devCommand], {
    dev: "runs everything on this machine: database, app, service; pushes schema/ when it changes",
  }),
  ...fromModule(async () => [(await import("./serve/mod.ts")).serveCommand], {
    serve: "serves the API until SIGTERM or SIGINT",
  }),
  ...fromModule(async () => [(await import("./migrate.ts")).migrateCommand], {
    migrate:
      "creates or updates Rowhouse's own tables and grants the login of DATABASE_URL its rights",
  }),
  ...fromModule(async () => [(await import("./init/mod.ts")).initCommand], {
    init: "creates a project: a schema, settings, and the files that rowhouse dev needs",
  }),
  ...fromModule(async () => (await import("./db/mod.ts")).dbCommands, {
    "db push": "creates or updates the tables of this folder's schema and writes their types",
    "db plan": "shows the changes that db push would make; writes nothing",
    "db check": "like db plan, but fails if changes are pending or migrations are missing",
    "db rename": "renames a column or a table",
    "db drop": "drops a column with its values, or a table with its rows",
    "db drop-value": "drops an enum value that no row uses",
    "db retype": "changes the type of a column, if every value converts",
    "db resolve": "merges the migration histories of this folder and a service after they diverged",
    "db pull": "writes the migrations that this folder lacks, exactly as they were pushed",
    "db status": "lists the app's recorded migrations and counts the pending steps of the schema",
  }),
  ...fromModule(async () => (await import("./data/mod.ts")).dataCommands, {
    "data import": "checks a CSV or JSON file, then stores its rows in a table",
    "data export": "prints all rows of a table as CSV or NDJSON",
  }),
  ...fromModule(async () => [(await import("./openapi.ts")).openapiCommand], {
    openapi: "prints the API of this folder's schema as an OpenAPI 3.1 document",
  }),
  ...fromModule(async () => (await import("./admin/apps.ts")).adminAppCommands, {
    "admin create-app": "creates an app with its origins and redirects",
    "admin list-apps": "lists the apps with their origins and redirects",
    "admin set-limit": "sets the requests per minute that an app and its keys can send",
  }),
  ...fromModule(async () => (await import("./admin/targets.ts")).adminTargetCommands, {
    "admin set-origins": "adds, removes or replaces the origins and redirects of an app",
  }),
  ...fromModule(async () => (await import("./admin/app_life.ts")).adminAppLifeCommands, {
    "admin rename-app": "changes the slug of an app",
    "admin set-app": "turns a setting of an app on or off, such as live updates",
  }),
  ...fromModule(async () => (await import("./admin/keys.ts")).adminKeyCommands, {
    "admin issue-key": "creates an API key for an app and prints it once",
    "admin revoke-key": "revokes an API key in all processes",
    "admin roll-key":
      "replaces an API key: prints the new key once; the old key expires after a grace period",
    "admin list-keys": "lists the API keys of an app, newest first",
  }),
  ...fromModule(async () => (await import("./admin/people.ts")).adminPeopleCommands, {
    "admin create-user": "creates an account and prints the link that sets its password",
    "admin password-link": "prints a new password link for a person; older links stop working",
    "admin change-email": "changes the address that a person signs in with",
    "admin disable": "signs a person out everywhere and locks the account",
    "admin enable": "lets a disabled person sign in again",
    "admin reset-second-factor": "removes the second factor of a person who has lost it",
  }),
  ...fromModule(async () => (await import("./admin/roles.ts")).adminRoleCommands, {
    "admin set-role": "sets or removes a Console role: admin on every app",
    "admin grant": "grants a person a role on an app",
    "admin revoke": "revokes a person's role on an app, or all roles from a provider's claims",
  }),
  ...fromModule(async () => (await import("./admin/sessions.ts")).adminSessionCommands, {
    "admin sessions": "lists a person's sessions, or ends them all",
    "admin end-sessions": "ends all sessions of the people with a role on an app",
  }),
  ...fromModule(async () => (await import("./admin/invitations.ts")).adminInvitationCommands, {
    "admin invite": "invites a person to an app with a role",
    "admin list-invitations": "lists pending invitations: people who cannot sign in yet",
    "admin resend-invitation":
      "creates a new link for a pending invitation; the previous link stops working",
    "admin withdraw-invitation": "withdraws a pending invitation and removes its account and roles",
  }),
  ...fromModule(async () => (await import("./admin/people_lists.ts")).adminPeopleListCommands, {
    "admin list-users": "lists people by address",
    "admin show-user": "shows a person with their roles and sessions",
    "admin export-user": "prints all stored data about a person as JSON",
    "admin list-grants": "lists the people who can open an app, with their roles",
  }),
  ...fromModule(async () => (await import("./admin/addresses.ts")).adminAddressCommands, {
    "admin confirm-addresses":
      "confirms people's addresses after a restore with another IDENTITY_SECRET",
  }),
  ...fromModule(async () => (await import("./admin/delete.ts")).adminDeleteCommands, {
    "admin delete-app": "deletes an app with its rows, keys and tables",
    "admin delete-user": "deletes a person's account with its roles and sessions",
  }),
  ...fromModule(async () => (await import("./admin/export_app.ts")).adminExportAppCommands, {
    "admin export-app": "writes an app with its rows to an archive file",
  }),
  ...fromModule(async () => (await import("./admin/import_app.ts")).adminImportAppCommands, {
    "admin import-app": "restores an app from an archive file, with the same row ids",
  }),
  ...fromModule(async () => (await import("./admin/audit.ts")).adminAuditCommands, {
    "admin audit": "shows the audit log, newest first",
  }),
  ...fromModule(async () => (await import("./admin/pushes.ts")).adminPushCommands, {
    "admin list-pushes": "lists the pushes of an app, newest first",
  }),
  ...fromModule(async () => (await import("./admin/tables.ts")).adminTableCommands, {
    "admin list-tables": "lists the tables of all apps, or of one app, with their owners and sizes",
    "admin transfer-table": "transfers a table to another app that uses it",
    "admin end-registration": "ends an app's use of a table and deletes the app's rows in it",
    "admin drop-table": "drops a table that no app uses",
  }),
  ...fromModule(async () => (await import("./admin/move_app.ts")).adminMoveAppCommands, {
    "admin move-app": "moves an app to another node of a Citus cluster",
  }),
  ...fromModule(async () => (await import("./admin/convert_to_citus.ts")).adminConvertCommands, {
    "admin convert-to-citus":
      "distributes a database with its rows over the nodes of a Citus cluster",
  }),
  ...fromModule(async () => [(await import("./health.ts")).healthCommand], {
    health: "checks whether the service on this machine (HOST, PORT) is alive",
  }),
  ...fromModule(async () => [(await import("./doctor.ts")).doctorCommand], {
    doctor:
      "checks settings, database, logins, clock, sign-in providers and mail server, and shows what to fix",
  }),
  ...fromModule(
    async () => [
      (await import("./cli/completion.ts")).makeCompletionCommand(() =>
        Promise.all(COMMANDS.map((row) => row.load())),
      ),
    ],
    { completion: "prints a completion script for bash, zsh or fish" },
  ),
];

/** The first line of an overview, by the first word of its commands. */
export const EXAMPLES: Readonly<Record<string, string>> = {
  "": "rowhouse dev",
  db: "ROWHOUSE_URL=https://api.example.org ROWHOUSE_API_KEY=… rowhouse db push",
  data: "rowhouse data import todos todos.csv --dry-run",
  admin: "rowhouse admin create-app wiki --origin https://wiki.example.org",
};
