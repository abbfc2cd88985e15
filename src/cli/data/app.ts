/** The app of the command's key: its tables, and calls to its data endpoints. @module */
import * as v from "valibot";
import { pageOf } from "../../data/bodies.ts";
import { DATA_PATH, ON_CONFLICT } from "../../data/deps.ts";
import { OPENAPI_PATH, TABLE_KEYWORD } from "../../openapi/table_keyword.ts";
import { type RowTexts, readPages } from "../../rows/mod.ts";
import { type Json, readDefinition, type TableDefinition } from "../../schema/mod.ts";
import { isObject } from "../../std/json.ts";
import { splitList, splitObject } from "../../std/json_text.ts";
import { MAX_BATCH_KEYWORD, MAX_BODY_BYTES, MAX_ROWS } from "../../std/limits.ts";
import { findNearest } from "../../std/names.ts";
import { quote } from "../../std/quote.ts";
import { EXIT, RejectedError, type Setting } from "../command.ts";
import { findService } from "../db/destination.ts";
import { callEndpoint, type EndpointCall, type Target } from "../db/http.ts";
import { askPatiently } from "../db/wait.ts";
import { readSettings } from "../settings.ts";

export type App = {
  readonly url: string;
  /** Max bytes of a body that is a list of rows. */
  readonly maxBatchBytes: number;
  /** @throws {RejectedError} the app has no table with that name */
  readonly findTable: (name: string) => TableDefinition;
  /** Whether the service updates rows by unique columns, which belongs to a preview. */
  readonly canUpdateBy: (table: string) => boolean;
  readonly call: (
    call: Pick<EndpointCall, "method" | "body" | "headers"> & { path: string },
  ) => ReturnType<typeof callEndpoint>;
};

/** Max wait while the app is over its rate limit. */
const WAIT_S = 900;

/** The app of the key from flags and settings. */
export async function openApp(setting: Setting, scope: string): Promise<App> {
  const { env, terminal } = setting;
  const { target } = await findService(setting, readSettings(env), { scope });
  const ask = (call: EndpointCall) =>
    askPatiently(() => callEndpoint(target, call), { waitS: WAIT_S, terminal });
  const { body } = await ask({ path: OPENAPI_PATH, scope });
  const tables = readTables(target, body);
  return {
    url: target.url,
    maxBatchBytes: readMaxBatch(body),
    findTable: (name) => findTable(tables, name),
    canUpdateBy: (table) => findParameter(body, `${DATA_PATH}/${table}`, ON_CONFLICT),
    call: ({ path, ...call }) => ask({ ...call, path: `${DATA_PATH}/${path}`, scope }),
  };
}

/** An earlier release does not say it. */
function readMaxBatch(document: object): number {
  const { [MAX_BATCH_KEYWORD]: limit } = document as { readonly [keyword: string]: unknown };
  return typeof limit === "number" ? limit : MAX_BODY_BYTES;
}

/** Whether the `POST` of a path has a query parameter. */
function findParameter(document: object, path: string, name: string): boolean {
  const { paths } = document as { readonly paths?: unknown };
  const item = isObject(paths) ? paths[path] : undefined;
  const create = isObject(item) ? item["post"] : undefined;
  const parameters = isObject(create) ? create["parameters"] : undefined;
  return (
    Array.isArray(parameters) &&
    parameters.some((parameter) => isObject(parameter) && parameter["name"] === name)
  );
}

function readTables(target: Target, document: object): readonly TableDefinition[] {
  const { components } = document as { components?: unknown };
  const schemas = isObject(components) ? components["schemas"] : undefined;
  const tables = isObject(schemas)
    ? Object.values(schemas).flatMap(
        (schema) => (isObject(schema) ? schema[TABLE_KEYWORD] : []) ?? [],
      )
    : undefined;
  const read = readDefinition({ version: 1, tables });
  if ("definition" in read) return read.definition.tables;
  throw new RejectedError(
    `${target.url} describes its tables in a format that this release cannot read: use the rowhouse command of the service's release`,
  );
}

function findTable(tables: readonly TableDefinition[], name: string): TableDefinition {
  const table = tables.find((table) => table.name === name);
  if (table !== undefined) return table;
  const names = tables.map((table) => table.name);
  const near = findNearest(name, names);
  const expected =
    names.length === 0
      ? "the app has no tables"
      : near === undefined
        ? `the app has ${names.join(", ")}`
        : `did you mean ${near}?`;
  throw new RejectedError(`Table ${quote(name)} does not exist: ${expected}`, EXIT.rejected, {
    code: "unknown_table",
  });
}

const PAGE = pageOf(v.custom<Readonly<Record<string, Json>>>(isObject));
type Row = { readonly values: Readonly<Record<string, Json>>; readonly texts: RowTexts };

export function listAll(app: App, table: string): AsyncGenerator<readonly Row[], void> {
  return readPages(
    async ({ limit, offset }) => {
      const { body, text } = await app.call({ path: `${table}?limit=${limit}&offset=${offset}` });
      const page = v.safeParse(PAGE, body);
      if (!page.success)
        throw new RejectedError(`${app.url} did not return a list of rows: check the URL`);
      const texts = splitList(splitObject(text).get("rows") ?? "[]").map(splitObject);
      return {
        rows: page.output.rows.map((values, index) => ({
          values,
          texts: texts[index] ?? new Map(),
        })),
        hasMore: page.output.hasMore,
      };
    },
    { limit: MAX_ROWS, idOf: ({ values }: Row) => String(values["id"]) },
  );
}
