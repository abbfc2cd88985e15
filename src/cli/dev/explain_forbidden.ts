/**
 * Names the rules in a 403 of `dev`, and in a 400 that denies a column that the role never sees, so that the author of a schema sees which rule rejects a call. Only in this command: a
 * service reveals no rules to a person.
 *
 * @module
 */
import { splitTarget } from "../../http/mod.ts";
import { type Definition, explainRights, type TableDefinition } from "../../schema/mod.ts";
import { tryParseJson } from "../../std/json.ts";
import { quote } from "../../std/quote.ts";

const ROWS = /^\/v1\/data\/db\/([a-z][a-z0-9_]*)(?:\/|$)/;

type Send = (request: Request) => Promise<Response>;

/** The response of a request for rows, with the rules that explain it. */
export type Explainer = (request: Request, response: Response, send: Send) => Promise<Response>;

/** `readSchema`: the schema that the app has now. */
export function makeExplainer(app: string, readSchema: () => Definition | undefined): Explainer {
  return async (request, response, send) => {
    const [, name] = ROWS.exec(splitTarget(request.url).path) ?? [];
    const table = readSchema()?.tables.find((found) => found.name === name);
    if (table === undefined || !(await mayBeRules(response, table))) return response;
    const role = await readRole(app, request, send);
    return role === undefined ? response : await addRules(response, describeRights(table, role));
  };
}

/** The role of the person whose key the request has; `undefined` for an API key. */
async function readRole(
  app: string,
  { url, headers }: Request,
  send: Send,
): Promise<string | undefined> {
  const me = new URL(`/v1/data/me?app=${encodeURIComponent(app)}`, url);
  const sent = ["authorization", "host"].map((name) => [name, headers.get(name) ?? ""] as const);
  const response = await send(new Request(me, { headers: Object.fromEntries(sent) }));
  const role: unknown = Object(tryParseJson(await response.text()))["role"];
  return typeof role === "string" ? role : undefined;
}

/** Whether the role can be the reason. A request for a hidden column fails as one for an unknown column. */
async function mayBeRules(response: Response, { rules }: TableDefinition): Promise<boolean> {
  if (response.status !== 400) return response.status === 403;
  const { message = "" } = Object(tryParseJson(await response.clone().text()));
  return Object.keys(rules?.only ?? {}).some((column) => message.includes(quote(column)));
}

/** Names the role and the table: the author often finds a misspelled role, or a table without rules. */
function describeRights(table: TableDefinition, role: string): string {
  return `The rules of ${table.name} for the role ${role}: ${explainRights(table, role)}`;
}

async function addRules(response: Response, rights: string): Promise<Response> {
  const body: { message?: string; details?: readonly { message: string }[] } = Object(
    tryParseJson(await response.text()),
  );
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  const add = (message = "") => `${message}. ${rights}`;
  // A client that shows details shows no message.
  const details = body.details?.map((detail) => ({ ...detail, message: add(detail.message) }));
  return Response.json(
    { ...body, message: add(body.message), ...(details && { details }) },
    { status: response.status, headers },
  );
}
