/**
 * The description of the API as an OpenAPI document, generated from the route tables, the columns that apps declare and the
 * table of problems, so that nothing is repeated. Pure.
 *
 * @see https://spec.openapis.org/oas/v3.1.1.html
 * @module
 */
import type { GenericSchema } from "valibot";
import { type FilterParameter, toFilterParameters } from "../data/mod.ts";
import {
  type JsonSchema,
  OPERATION_GROUPS,
  type Operation,
  type OperationResponse,
  type Shape,
} from "../http/mod.ts";
import { SESSION_COOKIE } from "../identity/mod.ts";
import { PREVIEWS, type Preview } from "../preview.ts";
import type { Scope } from "../principal.ts";
import type { NamedColumn, TableDefinition } from "../schema/mod.ts";
import { finish, type InPieces } from "../std/give_way.ts";
import { MAX_BATCH_KEYWORD, MAX_BODY_BYTES } from "../std/limits.ts";
import { TABLE_PATTERN } from "../std/patterns.ts";
import { toBodySchema } from "./body_schemas.ts";
import { QUOTA_HEADERS, toHeaderSchemas, toHeaders } from "./headers.ts";
import {
  nameParameters,
  toConditionSchemas,
  toDeprecated,
  toFilterName,
  toFilterReference,
  toParameterComponents,
  toParameterReference,
} from "./parameters.ts";
import {
  type Components,
  keepUsed,
  type NamedParts,
  nameParts,
  type Schemas,
  toComponents,
  toPartReference,
  toReference,
} from "./references.ts";
import {
  type DescribedRoute,
  formOf,
  listRejections,
  type ProblemGroup,
  toErrorSchemas,
  toRejectionName,
  toRejectionResponse,
} from "./rejections.ts";
import { toSchemaName, toTableSchemas } from "./table_schemas.ts";
import { toValueSchemas } from "./value_schemas.ts";

export type Document = {
  readonly openapi: "3.1.1";
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>>;
  readonly components: Components & { readonly securitySchemes: Schemas };
  readonly [keyword: string]: unknown;
};

type DocumentOptions = {
  /** The tables of an app; `undefined` for a generic description. */
  tables: readonly TableDefinition[] | undefined;
  previews?: readonly Preview[];
  /** Max bytes of a body that is a list of rows. */
  maxBatchBytes?: number;
  /** The service's URL; default: that of the document. */
  server?: string;
};

const ABOUT =
  "An app's rows, and the signed-in person. Every error has a stable code. Clients can rely on codes, not on messages.";

const ABOUT_PREVIEW: Readonly<Record<Preview, string>> = {
  filters:
    "The preview `filters` is on: lists accept conditions, a sort order and a column selection.",
  live: "The preview `live` is on: live apps have event streams of changes.",
  browser: "The preview `browser` is on: pages of an app read and write rows with a person's key.",
  history:
    "The preview `history` is on: the Console shows who changed the rows of an app with history, and the values before.",
};

/** The OpenAPI document of these routes. With `tables`, describes the endpoints of rows once per table. */
export function makeDocument(
  routes: readonly DescribedRoute[],
  options: DocumentOptions,
): Document {
  return finish(makeDocumentInPieces(routes, options));
}

/** {@linkcode makeDocument} in pieces: an app can have hundreds of tables. */
export function* makeDocumentInPieces(
  routes: readonly DescribedRoute[],
  { tables, previews = [], maxBatchBytes = MAX_BODY_BYTES, server = "/" }: DocumentOptions,
): InPieces<Document> {
  const described = routes.flatMap((route) => describe(route, previews));
  const parameters = nameParameters(described.map(({ operation }) => operation));
  const shared = { parameters, responses: nameResponses(described) };
  const { paths, filters } = yield* toPaths(described, tables, shared);
  return {
    openapi: "3.1.1",
    info: {
      title: "Rowhouse",
      version: "1",
      description: [ABOUT, ...previews.map((preview) => ABOUT_PREVIEW[preview])].join(" "),
      license: { name: "MIT", identifier: "MIT" },
    },
    [MAX_BATCH_KEYWORD]: maxBatchBytes,
    servers: [{ url: server }],
    tags: Object.entries(OPERATION_GROUPS).map(([name, description]) => ({ name, description })),
    paths,
    components: yield* keepUsed(paths, {
      schemas: {
        ...toErrorSchemas(described),
        ...toValueSchemas(),
        ...toConditionSchemas(),
        ...toHeaderSchemas(),
        ...(yield* toSchemas(tables, previews)),
      },
      parameters: toParameterComponents(parameters, filters),
      responses: { ...toRejections(described), ...toComponents(shared.responses) },
      securitySchemes: SECURITY,
    }),
  };
}

function* toSchemas(
  tables: readonly TableDefinition[] | undefined,
  previews: readonly Preview[],
): InPieces<Schemas> {
  const schemas = {};
  for (const table of tables ?? [undefined]) {
    Object.assign(schemas, toTableSchemas(table, previews));
    yield;
  }
  return schemas;
}

const SECURITY = {
  key: {
    type: "http",
    scheme: "bearer",
    description: "An app's API key, from the Console. Its scopes define what the key can do.",
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: SESSION_COOKIE,
    description: "The session cookie of a signed-in person. Only browsers send it.",
  },
};

/** An endpoint with its description. Its errors are the same for every table. */
type Described = DescribedRoute & { operation: Operation; rejections: readonly ProblemGroup[] };
type TableRoute = Described & {
  table: string | undefined;
  filters: readonly FilterParameter[];
};

function describe(route: DescribedRoute, previews: readonly Preview[]): Described[] {
  // In one order: a list with conditions also has the errors of rules.
  const [operation = route.operation] = PREVIEWS.filter((preview) =>
    previews.includes(preview),
  ).flatMap((preview) => route.previewed?.[preview] ?? []);
  if (operation === undefined) return [];
  return [{ ...route, operation, rejections: listRejections(route, operation) }];
}

/** Repeats an endpoint of tables for each table. */
function* expand(
  route: Described,
  tables: ReadonlyMap<string, readonly NamedColumn[]> | undefined,
): Generator<TableRoute> {
  const { parameters = [], isFiltered = false } = route.operation;
  const find = (table: string) => tables?.get(table) ?? [];
  const toFilters = (columns: readonly NamedColumn[]) =>
    isFiltered ? toFilterParameters(columns, parameters, find) : [];
  if (tables === undefined || !route.path.includes(TABLE))
    yield { ...route, table: undefined, filters: toFilters([]) };
  else
    for (const [table, columns] of tables)
      yield {
        ...route,
        path: route.path.replace(TABLE, table),
        table,
        filters: toFilters(columns),
      };
}

const TABLE = ":table";

/** What endpoints share, by its content. */
type Shared = { readonly parameters: NamedParts; readonly responses: NamedParts };

/** The endpoints, and the conditions that they accept, each once. */
function* toPaths(
  routes: readonly Described[],
  tables: readonly TableDefinition[] | undefined,
  shared: Shared,
): InPieces<{ paths: Document["paths"]; filters: FilterParameter[] }> {
  const columns = tables && new Map(tables.map((table) => [table.name, table.columns]));
  const paths: Record<string, Record<string, JsonSchema>> = {};
  const filters = new Map<string, FilterParameter>();
  for (const described of routes)
    for (const route of expand(described, columns)) {
      const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
      paths[path] ??= {};
      paths[path][route.method.toLowerCase()] = toOperation(route, shared);
      for (const filter of route.filters) filters.set(toFilterName(filter), filter);
      yield;
    }
  return { paths, filters: [...filters.values()] };
}

function toOperation(route: TableRoute, shared: Shared): JsonSchema {
  const { operation, table, filters, path } = route;
  const isOfTables = operation.group === "rows";
  const own = operation.parameters ?? [];
  const parameters = [
    ...(path.includes(TABLE) ? [TABLE_PARAMETER] : []),
    ...own.map((parameter) => toParameterReference(shared.parameters, parameter)),
    ...filters.map(toFilterReference),
  ];
  return {
    operationId: isOfTables ? `${operation.id}_${table ?? "rows"}` : operation.id,
    summary: table === undefined ? operation.summary : `${operation.summary} (${table})`,
    ...toDeprecated(operation),
    tags: [operation.group],
    ...toSecurity(route),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.bodies === undefined
      ? {}
      : { requestBody: { required: true, ...toContent(operation.bodies, table) } }),
    responses: toResponsesOf(route, shared),
  };
}

function toResponsesOf(
  { operation, rejections, table, access }: TableRoute,
  shared: Shared,
): JsonSchema {
  const form = formOf(operation);
  const responses = operation.responses.map((response) => [
    String(response.status),
    toPartReference("responses", shared.responses, toResponse(response, { table, access })),
  ]);
  const references = rejections.map((rejection) => [
    String(rejection.status),
    toReference("responses", toRejectionName(rejection, form)),
  ]);
  return Object.fromEntries([...responses, ...references]);
}

/** Responses without a row of a table, such as 304. */
function nameResponses(routes: readonly Described[]): NamedParts {
  return nameParts(
    routes.flatMap(({ operation, access }) =>
      operation.responses
        .filter(({ bodies = [] }) => !bodies.some(isTableShape))
        .map((response) => ({
          part: toResponse(response, { table: undefined, access }),
          name: `${response.status}-${operation.id}`,
          owner: operation.id,
        })),
    ),
  );
}

const TABLE_PARAMETER = {
  in: "path",
  name: "table",
  description: "The name of a table that the app pushed.",
  required: true,
  schema: { type: "string", pattern: TABLE_PATTERN },
};

/** Alternatives. An empty alternative means that credentials are optional. */
const SECURITY_OF: Readonly<Record<DescribedRoute["access"], (scopes: Scope[]) => JsonSchema[]>> = {
  key: (scopes) => [{ key: scopes }],
  "optional-key": () => [{}, { key: [] }],
  session: () => [{ session: [] }],
  "optional-session": () => [{}, { session: [] }],
  open: () => [],
};

function toSecurity({ access, scope }: DescribedRoute): JsonSchema {
  return { security: SECURITY_OF[access](scope === undefined ? [] : [scope]) };
}

function toResponse(
  { when, bodies, mediaType, headers = [] }: OperationResponse,
  { table, access }: Pick<TableRoute, "table" | "access">,
): JsonSchema {
  const isKeyed = access === "key" || access === "optional-key";
  return {
    description: when,
    headers: toHeaders(["X-Request-Id", ...(isKeyed ? QUOTA_HEADERS : []), ...headers]),
    ...(bodies === undefined ? {} : toContent(bodies, table, mediaType)),
  };
}

function toContent(
  shapes: readonly Shape[],
  table: string | undefined,
  mediaType = "application/json",
): JsonSchema {
  const schemas = shapes.map((shape) => toSchema(shape, table));
  const [only] = schemas;
  return {
    content: { [mediaType]: { schema: schemas.length === 1 ? only : { oneOf: schemas } } },
  };
}

function toSchema(shape: Shape, table: string | undefined): JsonSchema {
  if (isTableShape(shape)) return toReference("schemas", toSchemaName(table, shape.table));
  return isBody(shape) ? toBodySchema(shape) : shape;
}

function isTableShape(shape: Shape): shape is Extract<Shape, { table: unknown }> {
  return "table" in shape && typeof shape.table === "string";
}

function isBody(shape: Shape): shape is GenericSchema {
  return "~standard" in shape;
}

function toRejections(routes: readonly Described[]): Schemas {
  return Object.fromEntries(
    routes.flatMap(({ operation, rejections }) => {
      const form = formOf(operation);
      return rejections.map((rejection) => [
        toRejectionName(rejection, form),
        toRejectionResponse(rejection, form),
      ]);
    }),
  );
}
