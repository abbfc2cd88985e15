/** What `dev` tells when it runs: commands to paste, made from the schema that was pushed. Pure. @module */
import type { Definition, NamedColumn, TableDefinition } from "../../dsl/mod.ts";
import type { DevFile } from "./file.ts";

const EXAMPLES: Readonly<Record<string, unknown>> = {
  string: "Milk",
  number: 1,
  decimal: "1.50",
  boolean: true,
  uuid: "0190163d-8694-739b-aea5-966c26f8ad91",
  timestamp: "2030-01-31T12:00:00Z",
  json: {},
};

/** Lines for people: where it runs, and how a row is made and listed. */
export function describeTour(file: DevFile, definition: Definition | undefined): string[] {
  const table = definition?.tables.find(isSimple);
  const rows = table === undefined ? [] : describeRows(file, table);
  return [`Rowhouse runs at ${file.baseUrl} (app ${file.app})`, ...rows, ...describePeople(file)];
}

function describeRows({ baseUrl, apiKey }: DevFile, table: TableDefinition): string[] {
  const url = `${baseUrl}/v1/data/db/${table.name}`;
  const key = `-H 'Authorization: Bearer ${apiKey}'`;
  const body = JSON.stringify(toExampleRow(table));
  return [
    "",
    "Create a row:",
    `  curl -sS ${url} ${key} -H 'Content-Type: application/json' -d '${body.replaceAll("'", "'\\''")}'`,
    "List the rows:",
    `  curl -sS ${url} ${key}`,
    "",
  ];
}

/** Where a person signs in, and as whom. */
function describePeople({ identityUrl, admin, user }: DevFile): string[] {
  return [
    "Sign in:",
    `  ${identityUrl}/login`,
    `  as ${user.email} with ${user.password}`,
    `  as ${admin.email} with ${admin.password} (may open every app)`,
    "",
  ];
}

/** A table whose rows need no other row and may be made again and again. */
function isSimple(table: TableDefinition): boolean {
  return table.columns.every(
    (column) => !(isMandatory(column) && (column.kind === "ref" || column.unique)),
  );
}

function isMandatory(column: NamedColumn): boolean {
  return column.required && column.default === undefined;
}

/** The mandatory columns; where there is none, the first text. */
function toExampleRow(table: TableDefinition): Record<string, unknown> {
  const mandatory = table.columns.filter(isMandatory);
  const text = table.columns.filter((column) => column.kind === "string" && !column.unique);
  const columns = mandatory.length > 0 ? mandatory : text.slice(0, 1);
  return Object.fromEntries(columns.map((column) => [column.name, toExample(column)]));
}

function toExample(column: NamedColumn): unknown {
  return column.kind === "enum" ? column.values?.[0] : EXAMPLES[column.kind];
}
