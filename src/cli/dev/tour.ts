/** The start message of `dev`: commands to paste, rendered from the pushed schema. Pure. @module */

import { isReference, isText, VALUES } from "../../kinds/mod.ts";
import { isNeeded } from "../../rows/mod.ts";
import { type Definition, listRoles, type TableDefinition } from "../../schema/mod.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import type { DevFile } from "../dev_file.ts";

type TourOptions = {
  /** The pushed schema; `undefined` if the schema is missing or could not be pushed. */
  definition: Definition | undefined;
  /** Whether the schema exists, but could not be read or pushed. */
  hasFailed: boolean;
  /** The path of the schema from the project's folder. */
  schema: string;
  /** The origin of the app's pages in development. */
  frontEnd: string;
  /** The address of the API for programs that cannot resolve `*.localhost`. */
  localUrl: string;
  /** Those that are on. */
  previews: readonly string[];
};

/** Lines for people: the addresses, and how to create and list rows. */
export function describeTour(file: DevFile, options: TourOptions): string[] {
  const table = findTable(options.definition?.tables ?? []);
  const { previews } = options;
  const turnedOn = previews.length === 0 ? "" : `, previews ${previews.join(", ")}`;
  return [
    `Rowhouse runs at ${file.baseUrl} (app ${file.app}${turnedOn})`,
    "",
    "The app's key, with every scope:",
    `  ${file.apiKey}`,
    ...(table === undefined
      ? [describeNothing(options), ""]
      : describeRows(file, table, options.schema)),
    ...describePeople(file, options),
  ];
}

/** Lines about the app of another project, whose people are those of the first. */
export function describeOther({ app, apiKey }: DevFile, frontEnd: string): string[] {
  return [
    `The same service serves the app ${app}: run its commands in this folder. Its key:`,
    `  ${apiKey}`,
    "You can serve pages of the app from:",
    `  ${frontEnd}`,
    "",
  ];
}

function describeNothing({ hasFailed, schema }: TourOptions): string {
  return hasFailed
    ? `The push failed: correct ${schema}. Commands to paste follow after a successful push`
    : `No tables yet: declare a table in ${schema} (rowhouse init writes an example)`;
}

function describeRows(
  { baseUrl, apiKey }: DevFile,
  table: TableDefinition,
  schema: string,
): string[] {
  const url = quoteForShell(`${baseUrl}/v1/data/db/${table.name}`);
  const key = `-H ${quoteForShell(`Authorization: Bearer ${apiKey}`)}`;
  const row = JSON.stringify(toExampleRow(table));
  return [
    "Create a row:",
    `  curl -sS ${url} ${key} -H 'Content-Type: application/json' -d ${quoteForShell(row)}`,
    "List the rows:",
    `  curl -sS ${url} ${key}`,
    "In code, on a server and never in a browser:",
    '  import { createDataClient } from "rowhouse/data";',
    `  import schema from ${JSON.stringify(schema)};`,
    `  const db = createDataClient({ baseUrl: "${baseUrl}", apiKey: "${apiKey}", schema });`,
    `  await db.${table.name}.create(${row});`,
    `  console.log(await db.${table.name}.list());`,
    "",
  ];
}

/** The sign-in page, the accounts and the addresses. */
function describePeople(
  { gatewayUrl, identityUrl, admin, user, roles = {} }: DevFile,
  { definition, frontEnd, localUrl }: TourOptions,
): string[] {
  const ofRules = listRoles(definition?.tables ?? []);
  const others = Object.entries(roles).filter(([role]) => ofRules.includes(role));
  return [
    "Sign in:",
    `  ${identityUrl}/login`,
    `  as ${user.email} with ${user.password}${ofRules.length > 0 ? " (role member)" : ""}`,
    ...others.map(([role, { email, password }]) => `  as ${email} with ${password} (role ${role})`),
    `  as ${admin.email} with ${admin.password} (${ofRules.length > 0 ? "role admin on every app" : "can open every app"})`,
    "The Console, for administrators: apps, keys and activity",
    `  ${identityUrl}/console`,
    "The API:",
    `  ${gatewayUrl} in browsers`,
    `  ${localUrl} on servers: Node and Python cannot resolve *.localhost`,
    "You can also serve pages of the app from:",
    `  ${frontEnd}`,
    "",
  ];
}

/** The first table whose rows require no other row; preferably one that accepts the same row again. */
function findTable(tables: readonly TableDefinition[]): TableDefinition | undefined {
  const free = tables.filter(({ columns }) =>
    columns.every((column) => !(isNeeded(column) && isReference(column))),
  );
  return free.find(isRepeatable) ?? free[0];
}

/** Whether no unique constraint forbids a second row with the same values. */
function isRepeatable(table: TableDefinition): boolean {
  const sent = Object.keys(toExampleRow(table));
  const uniques = [
    ...table.uniques,
    ...table.columns.filter(({ unique }) => unique).map(({ name }) => [name]),
  ];
  return !uniques.some((names) => names.every((name) => sent.includes(name)));
}

/** The mandatory columns; if there are none, the first text column. */
function toExampleRow(table: TableDefinition): Record<string, unknown> {
  const mandatory = table.columns.filter(isNeeded);
  const text = table.columns.filter((column) => isText(column) && !column.unique);
  const columns = mandatory.length > 0 ? mandatory : text.slice(0, 1);
  return Object.fromEntries(
    columns.map((column) => [column.name, VALUES[column.kind].sample(column)]),
  );
}
