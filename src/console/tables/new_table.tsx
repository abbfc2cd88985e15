/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * Forms that write the text of a new table or column, to copy into the schema file: the project has the schema, and a push changes the
 * tables. Only `rowhouse dev` has the file: there the page shows the change and writes it, if the file is as it was shown.
 *
 * @module
 */
import { readParameters } from "../../http/mod.ts";
import { type Html, type Part, renderField, renderForm } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { readConsole } from "../../records/console/mod.ts";
import { type Definition, readDefinition, type TableDefinition } from "../../schema/mod.ts";
import { redirectToSignIn, type Visit } from "../enter.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import { renderError, renderPushHint, renderSnippet } from "../parts.tsx";
import {
  APPS,
  redirectWithNotice,
  toAppPath,
  toAppTablesPath,
  toNewColumnPath,
  toNewTablePath,
} from "../paths.ts";
import type { SchemaFile } from "../schema_file.ts";
import {
  declareColumn,
  readTypedColumn,
  renderColumnFields,
  type TypedColumn,
} from "./new_column.tsx";
import {
  addToSchema,
  diffLines,
  type Lines,
  renderColumnLines,
  renderTableLines,
} from "./schema_text.ts";

const DIGEST = "digest";
const FIRST_COLUMNS = 3;
const MAX_COLUMNS = 30;

const WRITTEN = {
  "schema-written":
    "Schema file written. rowhouse dev pushes it now, and its terminal shows the result.",
};

export const newTablePage = makePage();
/** Below the page of a table. */
export const newColumnPage = makePage();

function makePage() {
  return { show: handleForm, submit: handleWrite, done: WRITTEN, isOfDev: true } as const;
}

type Wanted = Awaited<ReturnType<typeof readWanted>>;

/** @throws {Problem} unknown_app; unknown_table */
async function readWanted({ deps, context }: Visit) {
  const { app: slug = "", table } = context.params;
  const query = new Map(readParameters(context.query));
  const { me, tables } = await readConsole(deps, "show_rules", { app_slug: slug });
  const extended = tables.find(({ name }) => name === table);
  if (table !== undefined && extended === undefined) throw new Problem("unknown_table");
  const asked =
    Number(query.get("columns") ?? FIRST_COLUMNS) + (query.has("more") ? FIRST_COLUMNS : 0);
  const count =
    table === undefined ? Math.min(Math.max(asked || FIRST_COLUMNS, 1), MAX_COLUMNS) : 1;
  const columns = Array.from({ length: count }, (_, place) => readTypedColumn(query, place + 1));
  const name = table ?? query.get("name")?.trim() ?? "";
  const isAsked = !query.has("more") && (table === undefined ? query.has("name") : query.size > 0);
  const file = deps.findSchemaFile?.(slug);
  const path = table === undefined ? toNewTablePath(slug) : toNewColumnPath(slug, table);
  return {
    ...{ me, slug, table, extended, tables, columns, name, file, path },
    isAsked,
    query: context.query,
  };
}

async function handleForm(visit: Visit): Promise<Response> {
  return respond(visit, await readWanted(visit));
}

/** Writes the file that the form has shown. The address has the fields, so that a sign-in returns to them. */
async function handleWrite(visit: Visit): Promise<Response> {
  const wanted = await readWanted(visit);
  const { me, slug, file } = wanted;
  if (!me.isFresh) return redirectToSignIn(visit.context);
  if (file === undefined) throw new Problem("unknown_route");
  const text = readText(wanted);
  const change = "lines" in text ? planChange(wanted, text.lines) : undefined;
  const isShown = change !== undefined && toDigest(change.before) === visit.fields.get(DIGEST);
  if (!isShown || !file.replace(change.before, change.after))
    return respond(
      visit,
      wanted,
      "Nothing was written: the file has changed. Review the change again.",
    );
  return redirectWithNotice(toAppTablesPath(slug), "schema-written");
}

/** The new lines of the schema, or the issues of what was typed. */
function readText({
  name,
  columns,
  extended,
  tables,
}: Wanted): { lines: Lines } | { issues: string[] } {
  const used = columns.filter((column) => (column["name"] ?? "") !== "");
  const declared = used.map(declareColumn);
  const own = declared.flatMap(({ issues }) => issues);
  const added = declared.map(({ declared: column }) => column);
  const reading = readDefinition({
    version: 1,
    tables: [
      {
        indexes: [],
        uniques: [],
        ...withoutRules(extended),
        name,
        columns: [...(extended?.columns ?? []), ...added],
      },
      // Only their names are compared.
      ...tables
        .filter((other) => other !== extended)
        .map((other) => ({ ...withoutRules(other), columns: [STUB], indexes: [], uniques: [] })),
    ],
  });
  const found =
    "issues" in reading
      ? reading.issues.map(({ column, message }) =>
          column === undefined ? message : `${column}: ${message}`,
        )
      : [];
  const missing = used.length === 0 ? ["Enter the name of a column"] : [];
  const issues = [...missing, ...own, ...found];
  if (issues.length > 0 || "issues" in reading) return { issues };
  const fresh = findColumns(reading.definition, name).slice(-used.length);
  return {
    lines:
      extended === undefined ? renderTableLines(name, fresh) : fresh.flatMap(renderColumnLines),
  };
}

const STUB = { name: "stub", kind: "string", required: false, unique: false, index: false };

function withoutRules(table: TableDefinition | undefined): object {
  const { rules, ...rest } = table ?? {};
  return rest;
}

function findColumns({ tables }: Definition, name: string): TableDefinition["columns"] {
  return tables.find((table) => table.name === name)?.columns ?? [];
}

type Change = { readonly before: string; readonly after: string };

/** The file with the lines; `undefined` without a file, or if it does not have the form of a schema. */
function planChange({ file, table }: Wanted, lines: Lines): Change | undefined {
  const before = file?.read();
  const after = before === undefined ? undefined : addToSchema(before, lines, table);
  return before === undefined || after === undefined ? undefined : { before, after };
}

function toDigest(text: string): string {
  return Bun.CryptoHasher.hash("sha256", text, "base64url");
}

function respond(visit: Visit, wanted: Wanted, failure?: string): Response {
  const { me, slug, table, isAsked } = wanted;
  const text = isAsked ? readText(wanted) : undefined;
  const issues = text !== undefined && "issues" in text ? text.issues : [];
  const isFailed = failure !== undefined || issues.length > 0;
  return respondWithConsolePage({
    me,
    title: table === undefined ? "New table" : `New column of ${table}`,
    crumbs: [
      { name: "Apps", path: APPS },
      { name: slug, path: toAppPath(slug) },
      { name: "Tables", path: toAppTablesPath(slug) },
    ],
    status: isFailed ? 422 : 200,
    body: [
      <p class="lead">
        The schema file of the project declares the tables. This form writes its text.
      </p>,
      failure !== undefined && renderError(failure),
      issues.length > 0 && renderError("This cannot be declared.", issues),
      text !== undefined &&
        "lines" in text && [renderText(visit, wanted, text.lines), <h2>The fields</h2>],
      renderFields(wanted),
    ],
  });
}

function renderFields({ name, table, columns, tables, slug, path }: Wanted): Html {
  const names = tables.map((other) => other.name);
  const render = (typed: TypedColumn, index: number) =>
    renderColumnFields(typed, {
      place: index + 1,
      tables: names,
      legend: table === undefined ? `Column ${index + 1}` : "Column",
    });
  return (
    <form class="sheet action" method="get" action={path}>
      {table === undefined && [
        renderField({
          ...{
            name: "name",
            label: "Name of the table",
            maxLength: 48,
            value: name,
            isOptional: true,
          },
          hint: "Lowercase letters, digits and underscores. All apps share the names of tables.",
        }),
        <input type="hidden" name="columns" value={columns.length} />,
      ]}
      {columns.map(render)}
      <div class="action-buttons">
        <button class="button button-primary" type="submit">
          Show the text
        </button>
        {table === undefined && columns.length < MAX_COLUMNS && (
          <button class="button button-quiet" type="submit" name="more" value="1">
            More columns
          </button>
        )}
        <a class="button button-quiet" href={toAppTablesPath(slug)}>
          Cancel
        </a>
      </div>
    </form>
  );
}

/** The text to copy, what its push does, and in `dev` the change of the file. */
function renderText(visit: Visit, wanted: Wanted, lines: Lines): Part {
  const { table, file } = wanted;
  const change = planChange(wanted, lines);
  const path = file?.path ?? "schema/mod.ts";
  const place = table === undefined ? <code>defineSchema({"{ … }"})</code> : <code>{table}</code>;
  return [
    <h2>The text</h2>,
    <p>
      Add it to {place} in <code>{path}</code>:
    </p>,
    renderSnippet({ id: "schema-text", name: "the text", text: lines.join("\n") }),
    <p class="quiet">
      {table === undefined
        ? "Its push creates the table. If another app has a table of this name, the push says how both can use it."
        : "Its push adds the column. Existing rows get null or the default; without a default, a push rejects a required column."}
    </p>,
    file === undefined
      ? renderPushHint(visit)
      : change === undefined
        ? renderUnknown(path)
        : renderChange(visit, wanted, { file, change }),
  ];
}

function renderUnknown(path: string): Html {
  return (
    <p class="notice notice-warn">
      The Console cannot add it to <code>{path}</code>: it finds no place there. Copy the text, and
      rowhouse dev pushes the file when you save it.
    </p>
  );
}

function renderChange(
  { token }: Visit,
  { query, path }: Wanted,
  { file, change }: { file: SchemaFile; change: Change },
): Part {
  return [
    <h2>The change of the file</h2>,
    <pre class="snippet diff" tabindex="0" aria-label={`The change of ${file.path}`}>
      {diffLines(change.before, change.after).map(({ sign, text }) => {
        const line = `${sign} ${text}\n`;
        if (sign === "+") return <ins>{line}</ins>;
        return sign === "-" ? <del>{line}</del> : line;
      })}
    </pre>,
    <p>rowhouse dev pushes the file when it is written.</p>,
    renderForm({
      action: `${path}?${query}`,
      token,
      hidden: { [DIGEST]: toDigest(change.before) },
      button: `Write ${file.path}`,
    }),
  ];
}
