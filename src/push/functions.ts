/**
 * The functions of a set of columns: each runs one statement and returns finished JSON text. What their bodies are put
 * together from is in `function_terms.ts`.
 *
 * @module
 */
import {
  type ColumnSet,
  ENDPOINTS,
  type Endpoint,
  FUNCTION_CALLERS,
  FUNCTION_OWNER,
  functionSignature,
  placeholdersOf,
  type RecordedName,
} from "../catalog/mod.ts";
import { quoteBody, quoteName } from "../db/mod.ts";
import {
  isProved,
  isRow,
  outputs,
  returnText,
  setTenant,
  TEXT,
  type Where,
} from "./function_terms.ts";
import { listBody } from "./list_body.ts";
import { createBody, createManyBody, deleteBody, updateBody } from "./write_bodies.ts";

const BODIES: Readonly<Record<Endpoint, (table: ColumnSet, where: Where) => string>> = {
  list: listBody,
  get: getBody,
  create: createBody,
  create_many: createManyBody,
  update: updateBody,
  delete: deleteBody,
};

/** A list looks twice, and must see one state of its table. */
const VOLATILITY: Readonly<Record<Endpoint, "stable" | "volatile">> = {
  list: "stable",
  get: "volatile",
  create: "volatile",
  create_many: "volatile",
  update: "volatile",
  delete: "volatile",
};

/** The statements that create or replace the functions of a set, and grant their execution. */
export function renderFunctions(table: ColumnSet, where: Where): string[] {
  return ENDPOINTS.flatMap((endpoint) => {
    const signature = functionSignature(table, endpoint);
    // A default may contain any text, even a dollar quote.
    const body = quoteBody(renderBody(table, endpoint, where));
    return [
      `create or replace function ${signature} returns ${TEXT} language plpgsql ${VOLATILITY[endpoint]} security definer as ${body}`,
      `alter function ${signature} owner to ${FUNCTION_OWNER}`,
      `revoke all on function ${signature} from public`,
      `grant execute on function ${signature} to ${FUNCTION_CALLERS.join(", ")}`,
    ];
  });
}

/** The statements that drop the functions of a set. */
export function renderDropFunctions(set: RecordedName): string[] {
  return ENDPOINTS.map((endpoint) => `drop function if exists ${functionSignature(set, endpoint)}`);
}

/** A function's body, as PostgreSQL stores it between line ends. */
export function renderBody(table: ColumnSet, endpoint: Endpoint, where: Where): string {
  return BODIES[endpoint](table, where);
}

function getBody(table: ColumnSet, where: Where): string {
  const { app, id, bytes } = placeholdersOf("get");
  return `declare
  "$text" ${TEXT};
begin
${setTenant(app, where)}
  "$text" := case when ${isProved("get")} then (
    select pg_catalog.row_to_json("$row")::${TEXT}
    from (select ${outputs(table)} from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)}) as "$row"
  ) else rowhouse.refuse_key() end;
${returnText(id, bytes)}
end`;
}
