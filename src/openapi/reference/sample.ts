/** Examples generated from schemas: a valid value, and the request that sends it. Pure. @module */
import type { JsonSchema } from "../../http/mod.ts";
import { VALUES } from "../../kinds/mod.ts";
import { escapeTurns } from "../../pages/mod.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import type { Document } from "../document.ts";
import { followReference } from "../references.ts";

const BY_FORMAT: Readonly<Record<string, unknown>> = {
  email: "ada@example.org",
  ...Object.fromEntries(
    Object.values(VALUES).flatMap(({ formatName, sample }) =>
      formatName === undefined ? [] : [[formatName[0], sample({})]],
    ),
  ),
};
const BY_TYPE: Readonly<Record<string, unknown>> = { boolean: true, number: 1.5, null: null };

type SampleOptions = {
  /** Whether it belongs to a request: objects then have only required fields. */
  isSent?: boolean;
};

export function listAlternatives(schema: JsonSchema): readonly unknown[] {
  return list(schema["anyOf"] ?? schema["oneOf"]);
}

export function makeSample(
  document: Document,
  given: JsonSchema,
  options: SampleOptions = {},
): unknown {
  const schema = followReference(document, given);
  if (schema["const"] !== undefined) return schema["const"];
  const [value] = [schema["default"], ...list(schema["enum"]), ...list(schema["examples"])].filter(
    (value) => value !== undefined && value !== null,
  );
  if (value !== undefined) return value;
  const [choice] = listAlternatives(schema);
  if (choice !== undefined) return makeSample(document, Object(choice), options);
  const type = [schema["type"]].flat().find((type) => type !== "null");
  if (type === "object") return sampleObject(document, schema, options);
  if (type === "array") return sampleArray(document, schema, options);
  if (type === undefined) return {};
  const sample = BY_FORMAT[String(schema["format"])];
  if (type === "integer") return sample ?? schema["minimum"] ?? 1;
  return sample ?? BY_TYPE[String(type)] ?? sampleText(schema);
}

function sampleObject(
  document: Document,
  schema: JsonSchema,
  { isSent = false }: SampleOptions,
): Record<string, unknown> {
  const all = Object.entries(Object(schema["properties"])).map(
    ([name, property]) => [name, Object(property)] as const,
  );
  const required = list(schema["required"]);
  const needed = all.filter(([name]) => required.includes(name));
  // A body without fields would be a useless example, and a reference needs an existing row.
  const some = all.filter(([, property]) => property["format"] !== "uuid").slice(0, 1);
  const properties = isSent ? (needed.length > 0 ? needed : some) : all;
  return Object.fromEntries(
    properties.map(([name, property]) => [name, makeSample(document, property, { isSent })]),
  );
}

function sampleArray(
  document: Document,
  schema: JsonSchema,
  options: SampleOptions,
): readonly unknown[] {
  const items = Object(schema["items"]);
  const hasProperties = Object.keys(followReference(document, items)).length > 1;
  return hasProperties || items["type"] !== "object" ? [makeSample(document, items, options)] : [];
}

/** Values for the few patterns of texts. */
function sampleText({ pattern }: JsonSchema): string {
  const texts = ["Example", "example", `sha256:${"0".repeat(64)}`];
  return texts.find((text) => new RegExp(String(pattern ?? "")).test(text)) ?? "";
}

/** A value as readable JSON, with escapes for characters that change the text direction. */
export function printJson(value: unknown, indent?: number): string {
  return escapeTurns(JSON.stringify(value, null, indent));
}

type SampleRequest = {
  method: string;
  path: string;
  isKeyed: boolean;
  isStream: boolean;
  /** Includes the first question mark. */
  query: string;
  body: unknown;
};

/** A request as a shell command, with secrets in the environment. */
export function printCurl(request: SampleRequest): string {
  const { method, path, query, isKeyed, isStream, body } = request;
  const lines = [
    `curl${isStream ? " -N" : ""}${method === "GET" ? "" : ` -X ${method}`} "$ROWHOUSE_URL"${quoteForShell(path + query)}`,
    ...(isStream ? ['-H "Accept: text/event-stream"'] : []),
    ...(isKeyed ? ['-H "Authorization: Bearer $ROWHOUSE_API_KEY"'] : []),
    ...(body === undefined
      ? []
      : ['-H "Content-Type: application/json"', `-d ${quoteForShell(printJson(body))}`]),
  ];
  return lines.join(" \\\n  ");
}

export function printTypeScript(request: SampleRequest): string {
  const { method, path, query, isKeyed, body } = request;
  const headers = [
    isKeyed && "    Authorization: `Bearer $" + "{env.ROWHOUSE_API_KEY}`,",
    body !== undefined && '    "Content-Type": "application/json",',
  ].filter((line) => line !== false);
  const options = [
    method !== "GET" && `  method: "${method}",`,
    headers.length > 0 && ["  headers: {", ...headers, "  },"].join("\n"),
    body !== undefined && `  body: JSON.stringify(${indent(printJson(body, 2))}),`,
  ].filter((line) => line !== false);
  const url = `\`\${env.ROWHOUSE_URL}${path}${query}\``;
  const call =
    options.length === 0 ? `fetch(${url})` : `fetch(${url}, {\n${options.join("\n")}\n})`;
  return `import { env } from "node:process";\n\nconst response = await ${call};\nconst { status } = response;\nconst text = await response.text();`;
}

/** The request with Python's standard library. */
export function printPython({ method, path, query, isKeyed, body }: SampleRequest): string {
  const headers = [
    isKeyed && '        "Authorization": "Bearer " + os.environ["ROWHOUSE_API_KEY"],',
    body !== undefined && '        "Content-Type": "application/json",',
  ].filter((line) => line !== false);
  const lines = [
    `import ${body === undefined ? "" : "json, "}os, urllib.request`,
    "",
    "request = urllib.request.Request(",
    `    os.environ["ROWHOUSE_URL"] + ${JSON.stringify(path + query)},`,
    ...(method === "GET" ? [] : [`    method="${method}",`]),
    ...(headers.length === 0 ? [] : ["    headers={", ...headers, "    },"]),
    ...(body === undefined
      ? []
      : [`    data=json.dumps(${indent(printPythonValue(body), 4)}).encode(),`]),
    ")",
    "with urllib.request.urlopen(request) as response:",
    "    print(response.status, response.read().decode())",
  ];
  return lines.join("\n");
}

/** Written by hand, by the id of the endpoint: the first examples that a reader sees handle errors and read the rows. */
export const WRITTEN_EXAMPLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  list_rows: {
    curl: `# The first 20 rows of the table "todos"
curl --fail-with-body -sS "$ROWHOUSE_URL/v1/data/db/todos?limit=20" \\
  -H "Authorization: Bearer $ROWHOUSE_API_KEY"`,
    typescript: `import { env } from "node:process";

const response = await fetch(\`\${env.ROWHOUSE_URL}/v1/data/db/todos?limit=20\`, {
  headers: { Authorization: \`Bearer \${env.ROWHOUSE_API_KEY}\` },
});
if (!response.ok) throw new Error(await response.text());
const { rows, hasMore } = await response.json();
const titles = rows.map(({ title }) => title);
// If hasMore, the next page has &offset=\${rows.length}.`,
    python: `import json, os, urllib.error, urllib.request

request = urllib.request.Request(
    os.environ["ROWHOUSE_URL"] + "/v1/data/db/todos?limit=20",
    headers={"Authorization": "Bearer " + os.environ["ROWHOUSE_API_KEY"]},
)
try:
    with urllib.request.urlopen(request) as response:
        page = json.load(response)
except urllib.error.HTTPError as error:
    raise SystemExit(error.read().decode())
for row in page["rows"]:
    print(row["id"], row["title"])
if page["hasMore"]:
    print(f"More rows follow: add &offset={len(page['rows'])}")`,
  },
};

function indent(text: string, by = 2): string {
  return text.replaceAll("\n", `\n${" ".repeat(by)}`);
}

/** JSON with Python's names for three literals, replaced only outside strings. */
function printPythonValue(value: unknown): string {
  const terms: Readonly<Record<string, string>> = { true: "True", false: "False", null: "None" };
  return printJson(value, 4).replace(
    /"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g,
    (token) => terms[token] ?? token,
  );
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
