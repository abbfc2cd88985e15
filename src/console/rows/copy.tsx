/** @jsxImportSource #html @jsxRuntime automatic */
/** A row to copy: as JSON, and as a request or SDK call that creates a copy. @module */
import { escapeTurns, type Html, type Row, TEXTS } from "../../pages/mod.ts";
import { indentJson } from "../../std/json_text.ts";
import { quoteForShell } from "../../std/quote.ts";
import type { Visit } from "../enter.tsx";
import { renderSnippet, type Snippet, toApiUrl } from "../parts.tsx";
import type { RowsTable } from "./table.tsx";

const MAX_CHARS = 20_000;

export function renderCopies(visit: Visit, { table }: RowsTable, row: Row): Html {
  const snippets = toSnippets(`${toApiUrl(visit)}/v1/data/db/${table}`, table, row);
  return (
    <section class="sheet row-copies" aria-labelledby="copies">
      <h2 id="copies">Copy the row</h2>
      {snippets.map((snippet, index) => (
        <details open={index === 0}>
          <summary>{snippet.name}</summary>
          {renderSnippet({ id: `copy-${index}`, ...snippet })}
        </details>
      ))}
    </section>
  );
}

function toSnippets(url: string, table: string, row: Row): Snippet[] {
  const { id } = row;
  const json = toRowJson(row);
  const values = toJson([...row[TEXTS]].filter(([name]) => name !== "id" && name !== "app_id"));
  const read = {
    name: "curl",
    text: `curl -sS ${quoteForShell(`${url}/${id}`)} \\\n  -H "Authorization: Bearer $ROWHOUSE_API_KEY"`,
  };
  if (json.length > MAX_CHARS) return [read];
  return [
    { name: "JSON", text: json },
    read,
    {
      name: "curl, to create a copy",
      text: `curl -sS ${quoteForShell(url)} \\
  -H "Authorization: Bearer $ROWHOUSE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  --data-binary ${quoteForShell(escapeTurns(values))}`,
    },
    {
      name: "SDK, to create a copy",
      text: `await db.${table}.create(${escapeTurns(indentJson(values))});`,
    },
  ];
}

/** A row as JSON, with the digits and the order of the endpoints. */
export function toRowJson(row: Row): string {
  return escapeTurns(indentJson(toJson([...row[TEXTS]])));
}

function toJson(values: readonly (readonly [name: string, text: string])[]): string {
  return `{${values.map(([name, text]) => `${JSON.stringify(name)}:${text}`)}}`;
}
