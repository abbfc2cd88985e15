/**
 * The table of commands, in the order of the help. A command's module is imported only when the command runs, so the help
 * starts fast.
 *
 * @module
 */
import type { Command, CommandRow } from "./command.ts";
import { SUMMARIES } from "./summaries.ts";

/** Rows for the commands of one module, from their names and summaries. */
function fromModule(
  load: Modules[string],
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

/** The summaries of a module's commands. */
function findSummaries(module: string): Readonly<Record<string, string>> {
  const all = Object.entries(SUMMARIES).filter(([key]) => key.startsWith(`${module} `));
  return Object.fromEntries(all.map(([key, text]) => [key.slice(module.length + 1), text]));
}

type Modules = Readonly<Record<string, () => Promise<readonly Command[]>>>;

/** The modules of an operator's commands, in the order of the help. `bun run generate` copies their summaries. */
export const ADMIN: Modules = {
  apps: async () => (await import("./admin/apps.ts")).adminAppCommands,
  keys: async () => (await import("./admin/keys.ts")).adminKeyCommands,
  people: async () => (await import("./admin/people.ts")).adminPeopleCommands,
  roles: async () => (await import("./admin/roles.ts")).adminRoleCommands,
  invitations: async () => (await import("./admin/invitations.ts")).adminInvitationCommands,
  people_lists: async () => (await import("./admin/people_lists.ts")).adminPeopleListCommands,
  archives: async () => (await import("./admin/archives.ts")).adminArchiveCommands,
  audit: async () => (await import("./admin/audit.ts")).adminAuditCommands,
  tables: async () => (await import("./admin/tables.ts")).adminTableCommands,
  cluster: async () => (await import("./admin/cluster.ts")).adminClusterCommands,
};

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
    "db rules": "shows which rows the roles of the schema's rules read and write",
  }),
  ...fromModule(async () => (await import("./data/mod.ts")).dataCommands, {
    "data import": "checks a CSV or JSON file, then stores its rows in a table",
    "data export": "prints all rows of a table as CSV or NDJSON",
  }),
  ...fromModule(async () => [(await import("./openapi.ts")).openapiCommand], {
    openapi: "prints the API of this folder's schema as an OpenAPI 3.1 document",
  }),
  ...Object.entries(ADMIN).flatMap(([module, load]) => fromModule(load, findSummaries(module))),
  ...fromModule(async () => [(await import("./health.ts")).healthCommand], {
    health: "checks whether the service on this machine (HOST, PORT) is alive",
  }),
  ...fromModule(async () => [(await import("./doctor.ts")).doctorCommand], {
    doctor:
      "checks settings, database, logins, clock, sign-in providers and mail server, and shows what to fix",
  }),
  ...fromModule(
    async () => [
      (await import("./completion.ts")).makeCompletionCommand(() =>
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
