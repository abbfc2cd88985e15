/**
 * The table of commands, in the order of the help. A command's module is imported when the command is typed: the help starts
 * fast because it imports none.
 *
 * @module
 */
import type { Command, CommandRow } from "./cli/command.ts";

/** Rows for commands of one module: their names and summaries. */
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
    migrate: "creates or updates Rowhouse's own tables and lets the login of DATABASE_URL serve",
  }),
  ...fromModule(async () => [(await import("./init/mod.ts")).initCommand], {
    init: "starts a project: a schema, settings, and what rowhouse dev needs",
  }),
  ...fromModule(async () => (await import("./db/mod.ts")).dbCommands, {
    "db push": "creates or updates the tables of this folder's schema and writes their types",
    "db plan": "shows what db push would do, and writes nothing",
    "db check": "like db plan, but fails if changes are pending or migrations are missing",
    "db rename": "gives a column or a table another name",
    "db drop": "drops a column with its values, or a table with its rows",
    "db drop-value": "drops a value of an enum that no row has",
    "db retype": "gives a column another type, if every value converts",
    "db resolve": "joins the histories of this folder and a service that have diverged",
    "db pull":
      "writes the migrations that are missing from this folder, as the project pushed them",
    "db status": "lists what is recorded for the app, and how many steps of the schema are pending",
  }),
  ...fromModule(async () => (await import("./data/mod.ts")).dataCommands, {
    "data import":
      "stores the rows of a CSV or JSON file in a table, after a check of the whole file",
    "data export": "prints all rows of a table as CSV or NDJSON",
  }),
  ...fromModule(async () => [(await import("./openapi.ts")).openapiCommand], {
    openapi: "prints the API of this folder's schema as an OpenAPI 3.1 document",
  }),
  ...fromModule(async () => (await import("./admin/apps.ts")).adminAppCommands, {
    "admin create-app": "creates an app, with the origins and redirects it may use",
    "admin list-apps": "lists the apps with their origins and redirects",
    "admin set-limit": "sets how many requests per minute an app and its keys may send",
  }),
  ...fromModule(async () => (await import("./admin/targets.ts")).adminTargetCommands, {
    "admin set-origins": "adds, removes or replaces the origins and redirects of an app",
  }),
  ...fromModule(async () => (await import("./admin/app_life.ts")).adminAppLifeCommands, {
    "admin rename-app": "gives an app another slug",
    "admin disable-app": "refuses an app's keys and its sign-in, at once; keeps its rows",
    "admin enable-app": "lets a disabled app's keys and sign-in work again",
    "admin set-live": "starts or ends event streams of an app's changes",
    "admin set-people-list": "lets people with a role on an app list the others, or stops it",
  }),
  ...fromModule(async () => (await import("./admin/keys.ts")).adminKeyCommands, {
    "admin issue-key": "creates an API key for an app and prints it once",
    "admin revoke-key": "revokes an API key: from then on every process refuses it",
    "admin roll-key":
      "replaces an API key: prints a copy once, and ends the old one after a grace period",
    "admin list-keys": "lists the API keys of an app, newest first",
  }),
  ...fromModule(async () => (await import("./admin/people.ts")).adminPeopleCommands, {
    "admin create-user": "creates an account and prints the link that sets its password",
    "admin password-link": "prints a new link that sets a person's password, and ends an older one",
    "admin set-role": "gives or takes a Console role: admin on every app",
    "admin change-email": "gives a person another address to sign in with",
    "admin grant": "lets a person use an app, in a role",
    "admin revoke": "takes away a person's role on an app, or all by claims of a provider",
    "admin disable": "signs a person out everywhere and locks the account",
    "admin enable": "lets a disabled person sign in again",
    "admin reset-second-factor": "takes away the second factor of a person who has lost it",
    "admin sessions": "lists a person's sessions, or ends them all",
    "admin end-sessions": "ends all sessions of the people with a role on an app",
  }),
  ...fromModule(async () => (await import("./admin/invitations.ts")).adminInvitationCommands, {
    "admin invite": "invites a person to an app, in a role",
    "admin list-invitations": "lists who was invited and cannot sign in yet",
    "admin resend-invitation": "makes a new link for an open invitation, and ends the one before",
    "admin withdraw-invitation": "ends an open invitation, with the account and its roles",
  }),
  ...fromModule(async () => (await import("./admin/people_lists.ts")).adminPeopleListCommands, {
    "admin list-users": "lists people by address",
    "admin show-user": "shows a person with roles and sessions",
    "admin export-user": "prints all that is stored of a person, as JSON",
    "admin list-grants": "lists who may open an app, and in which role",
  }),
  ...fromModule(async () => (await import("./admin/addresses.ts")).adminAddressCommands, {
    "admin confirm-addresses":
      "confirms people's addresses after a restore with another IDENTITY_SECRET",
  }),
  ...fromModule(async () => (await import("./admin/delete.ts")).adminDeleteCommands, {
    "admin delete-app": "deletes an app with its rows, keys and tables",
    "admin delete-user": "deletes a person's account, with roles and sessions",
  }),
  ...fromModule(async () => (await import("./admin/export_app.ts")).adminExportAppCommands, {
    "admin export-app": "writes an app with its rows to one file",
  }),
  ...fromModule(async () => (await import("./admin/import_app.ts")).adminImportAppCommands, {
    "admin import-app": "restores an app from such a file, with the same ids",
  }),
  ...fromModule(async () => (await import("./admin/audit.ts")).adminAuditCommands, {
    "admin audit": "shows the audit log, newest first",
  }),
  ...fromModule(async () => (await import("./admin/tables.ts")).adminTableCommands, {
    "admin transfer-table": "makes another app the owner of a table that it uses",
    "admin end-registration": "ends an app's use of a table and deletes its rows of it",
    "admin drop-table": "drops a table that no app uses any more",
  }),
  ...fromModule(async () => (await import("./admin/move_app.ts")).adminMoveAppCommands, {
    "admin move-app": "moves an app to another node of a Citus cluster",
  }),
  ...fromModule(async () => (await import("./admin/convert_to_citus.ts")).adminConvertCommands, {
    "admin convert-to-citus":
      "distributes a database with its rows over the nodes of a Citus cluster",
  }),
  ...fromModule(async () => [(await import("./health.ts")).healthCommand], {
    health: "asks the service on this machine (HOST, PORT) whether it is alive",
  }),
  ...fromModule(async () => [(await import("./doctor.ts")).doctorCommand], {
    doctor:
      "checks settings, database, logins, clock, sign-in providers and mail server, and says what to fix",
  }),
  ...fromModule(
    async () => [
      (await import("./cli/completion.ts")).makeCompletionCommand(() =>
        Promise.all(COMMANDS.map((row) => row.load())),
      ),
    ],
    { completion: "prints the completion of commands and flags for bash, zsh or fish" },
  ),
];

/** The first line of an overview, by the word that its commands begin with. */
export const EXAMPLES: Readonly<Record<string, string>> = {
  "": "rowhouse dev",
  db: "ROWHOUSE_URL=https://api.example.org ROWHOUSE_API_KEY=… rowhouse db push",
  data: "rowhouse data import todos todos.csv --dry-run",
  admin: "rowhouse admin create-app wiki --origin https://wiki.example.org",
};
