/**
 * The functions of a column set: each runs one statement and returns finished JSON text. `function_terms.ts` has the parts
 * of their bodies.
 *
 * @module
 */

import { dialectOf, type OwnEndpoint, quoteBody, quoteName } from "../../../db/mod.ts";
import { canonicalJson } from "../../../std/json.ts";
import {
  type ColumnSet,
  callersOf,
  FUNCTION_OWNER,
  type FunctionSite,
  formerSignatures,
  functionSignature,
  functionsOfSet,
  isOneServer,
  placeholdersOf,
  type RecordedName,
  SET_FUNCTIONS,
  type ServedSet,
  type SetFunction,
  scopeOf,
  type View,
} from "../../catalog/mod.ts";
import { qualify } from "../../qualify.ts";
import { declareWho } from "./caller_terms.ts";
import { renderMakeFinder } from "./finder.ts";
import {
  fromProof,
  isProved,
  isRow,
  outputs,
  rejectCall,
  returnText,
  setTenant,
} from "./function_terms.ts";
import { listBody } from "./list_body.ts";
import { termsBody } from "./terms_body.ts";
import { andVisible, WHO } from "./view_terms.ts";
import { walkBody } from "./walk_body.ts";
import { createBody, createManyBody } from "./writes/create_bodies.ts";
import { createGroupBody } from "./writes/create_group_body.ts";
import { deleteBody, updateBody } from "./writes/update_bodies.ts";
import { updateManyBody } from "./writes/update_many_body.ts";

const BODIES: Readonly<Record<OwnEndpoint, (table: ServedSet, site: FunctionSite) => string>> = {
  list: listBody,
  get: getBody,
  create: createBody,
  create_many: createManyBody,
  create_group: createGroupBody,
  update: updateBody,
  update_many: updateManyBody,
  delete: deleteBody,
  walk: walkBody,
};

/** This file, for readers of the functions in a database. */
const SOURCE = "src/tables/sql/functions/functions.ts";

/** Functions with several reads must see one state of their table. */
function volatilityOf(name: SetFunction): "stable" | "volatile" {
  if (name === "terms") return "stable";
  return scopeOf(name) === "data:read" && name !== "get" ? "stable" : "volatile";
}

/** The statements that create or replace the functions of a column set, and grant their execution. */
export function renderFunctions(
  table: ServedSet,
  site: FunctionSite,
  names = functionsOfSet(table, site),
): string[] {
  const signatures = names.map((name) => functionSignature(table, name));
  const statements = names.flatMap((name) => {
    const signature = functionSignature(table, name);
    // A default can contain any text, even a dollar quote.
    const body = quoteBody(renderBody(table, name, site));
    const callers = callersOf(name);
    return [
      `create or replace function ${signature} returns pg_catalog.text language plpgsql ${volatilityOf(name)} security definer as ${body}`,
      `alter function ${signature} owner to ${FUNCTION_OWNER}`,
      `revoke all on function ${signature} from public`,
      ...(callers.length === 0
        ? []
        : [`grant execute on function ${signature} to ${callers.join(", ")}`]),
    ];
  });
  const created = dialectOf(site).createFunctions(statements, signatures);
  return [...created, ...(names.includes("walk") ? [renderMakeFinder(table)] : [])];
}

/** The statements that replace the functions of a column set whose bodies depend on the indexes of the table. */
export function renderIndexed(table: ServedSet, site: FunctionSite): string[] {
  const indexed = table.view === undefined ? INDEXED : INDEXED_OF_VIEW;
  const names = functionsOfSet(table, site).filter((name) => indexed.has(name));
  return renderFunctions(table, site, names);
}

const INDEXED: ReadonlySet<SetFunction> = new Set(["walk"]);
/** The statements of a view also walk along the indexes of its rule. */
const INDEXED_OF_VIEW: ReadonlySet<SetFunction> = new Set([
  ...(["walk", "list", "terms"] as const),
]);

export function renderDropFunctions(set: RecordedName): string[] {
  return [...renderDrops(set, SET_FUNCTIONS), ...renderDropFormer(set)];
}

/** The statements that drop the functions that a database of this kind lacks. */
export function renderDropUnserved(set: ColumnSet, site: FunctionSite): string[] {
  const drops = renderDrops(set, findUnserved(set, site));
  return isOneServer(site) ? drops : [...drops, ...renderDropFormer(set)];
}

function renderDropFormer(set: RecordedName | ColumnSet): string[] {
  return formerSignatures(set).map((signature) => `drop function if exists ${signature}`);
}

export function findUnserved(set: ColumnSet, site: FunctionSite): SetFunction[] {
  const served = functionsOfSet(set, site);
  return SET_FUNCTIONS.filter((name) => !served.includes(name));
}

function renderDrops(set: RecordedName | ColumnSet, names: readonly SetFunction[]): string[] {
  return names.map((name) => `drop function if exists ${functionSignature(set, name)}`);
}

/** A function's body, as PostgreSQL stores it. */
export function renderBody(table: ServedSet, name: SetFunction, site: FunctionSite): string {
  const what = name === "terms" ? name : `endpoint ${name}`;
  const header = `-- The ${what} of a table. Generated by ${SOURCE}: a push replaces it.`;
  const set = sortView(table);
  if (name === "terms") return `${header}\n${termsBody(set)}`;
  return qualify(`${header}\n${BODIES[name](set, site)}`);
}

/** PostgreSQL stores a view with its keys in another order, which must not change the body. */
function sortView(table: ServedSet): ServedSet {
  if (table.view === undefined) return table;
  return { ...table, view: JSON.parse(canonicalJson(table.view)) as View };
}

function getBody(table: ColumnSet, site: FunctionSite): string {
  const { app, id, bytes } = placeholdersOf("get");
  if (table.view !== undefined) return personGetBody(table, site);
  return `declare
  "$text" text;
begin
  ${setTenant(app, site)}
  "$text" := case when ${isProved(table, "get")} then (
    select row_to_json("$row")::text
    from (select ${outputs(table)} from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)}) as "$row"
  ) else ${rejectCall(table, "get")} end;
  ${returnText(id, bytes)}
end`;
}

/** One statement proves the person and reads the row. */
function personGetBody(table: ColumnSet, site: FunctionSite): string {
  const { app, id, bytes } = placeholdersOf("get");
  return `declare
  ${declareWho(table)}
  "$text" text;
begin
  ${setTenant(app, site)}
  select "$p"."person_id", (
    select row_to_json("$row")::text from (select ${outputs(table)} from data.${quoteName(table.name)} as "$t"
      where ${isRow(app, id)}${andVisible(table, "$t", '"$p"."person_id"')}) as "$row")
  into ${WHO}, "$text" ${fromProof(table, "get")};
  if not found then
    return ${rejectCall(table, "get")};
  end if;
  ${returnText(id, bytes)}
end`;
}
