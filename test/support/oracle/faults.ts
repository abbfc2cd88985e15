/**
 * Faults of the compiler of rules, planted in a database: the text of generated functions is replaced, the source stays as it is. A
 * model test that does not find one of them proves nothing.
 *
 * @module
 */
import { type Database, quoteName, readRows } from "../../../src/db/mod.ts";
import type { Alternative, Rule } from "../../../src/schema/mod.ts";
import {
  functionName,
  type SetFunction,
  type View,
  type ViewSet,
  viewSetsOf,
} from "../../../src/tables/catalog/mod.ts";
import { qualify } from "../../../src/tables/qualify.ts";
import { outputs } from "../../../src/tables/sql/functions/function_terms.ts";
import { isAllowed, onRow, type RuleName } from "../../../src/tables/sql/functions/view_terms.ts";
import { withDatabase } from "../cluster.ts";
import { definitionOfTables, type World } from "./world.ts";

type Swap = readonly [before: string, after: string];
type Fault = {
  readonly endpoints: readonly SetFunction[];
  /** The players that can find it; default: all. */
  readonly players?: readonly string[];
  /** Texts of a view's functions, and what replaces them. */
  readonly swaps?: (set: ViewSet) => readonly Swap[];
  readonly edit?: (text: string) => string;
  /** A function of the service. */
  readonly service?: { readonly name: string; readonly edit: (text: string) => string };
};

const WRITES = ["create", "create_many", "create_group", "update", "terms"] as const;
const READS = ["get", "list", "walk"] as const;
const NAMES: readonly RuleName[] = ["read", "create", "from", "to", "delete"];
const always = "true";

export const FAULTS: Readonly<Record<string, Fault>> = {
  "a change is not checked after it": {
    endpoints: ["update"],
    players: ["update", "updateMany", "updateWhere", "upsert", "create"],
    edit: (text) => text.replaceAll(/if not "\$ok" then/g, "if false then"),
    service: {
      name: "change_set_rows",
      edit: (text) => text.replace("if false = any (allowed) then", "if false then"),
    },
  },
  "the list ignores all but the first column of an alternative": {
    endpoints: ["list", "terms", "walk"],
    swaps: (set) => rewrite(set, ["read"], (alternative) => firstOf(alternative)),
  },
  "readable ignores the rule of the other table": {
    endpoints: [...READS, ...WRITES, "delete"],
    players: ["get", "list", "query", "update"],
    swaps: (set) => swapRules(set, NAMES, withOpenOthers(set.view)),
  },
  "a delete ignores its rule": {
    endpoints: ["delete", "terms"],
    players: ["delete", "deleteWhere", "create"],
    swaps: (set) => swapRules(set, ["delete"], { ...set.view, delete: [{}] }),
  },
  "references are not checked": {
    endpoints: [...WRITES],
    edit: (text) => text.replaceAll(/perform rowhouse\.reject_reference\([^;]*\);/g, "null;"),
    service: {
      name: "reject_references",
      edit: (text) => text.replace(/execute query using [^;]*;/, "null;"),
    },
  },
  "a response has a hidden column": {
    endpoints: ["get", "list"],
    swaps: (set) => {
      const open = { ...set, view: { ...set.view, hidden: [] } };
      return [[qualify(outputs(set)), qualify(outputs(open))]];
    },
  },
  "a count has invisible rows": {
    endpoints: [],
    players: ["query", "groups", "create", "update"],
    service: {
      name: "find_statement",
      edit: (text) =>
        text.replace(
          "rowhouse.seen_rows(terms, rule, plan, ''), matches",
          "rowhouse.seen_rows(terms - 'seen', rule, plan, ''), matches",
        ),
    },
  },
  "an idempotency key is not bound to the person": {
    endpoints: [],
    players: ["repeat", "update"],
    service: {
      name: "claim_of",
      edit: (text) => text.replace(/\bselect [\s\S]*(?=\$function\$)/, "select claim\n"),
    },
  },
  "memberOf ignores where": {
    endpoints: [...READS, ...WRITES, "delete"],
    swaps: (set) => rewriteAll(set, withoutWhere),
  },
  "an upsert ignores the state before it": {
    endpoints: ["terms"],
    players: ["upsert", "update", "create"],
    swaps: (set) =>
      swapRules(set, ["from"], {
        ...set.view,
        ...(set.view.update && { update: { ...set.view.update, from: [{}] } }),
      }),
  },
  "a group of creates ignores the rule": {
    endpoints: ["create_group", "create_many"],
    edit: (text) => text.replaceAll(/perform rowhouse\.reject_rule\(null\);/g, "null;"),
  },
  "a person can set any column": {
    endpoints: ["create", "update", "create_many"],
    edit: (text) => text.replaceAll(/perform rowhouse\.reject_rule\((?!null)[^;]*\);/g, "null;"),
  },
  "an update ignores the state before it": {
    endpoints: ["update"],
    swaps: (set) =>
      swapRules(set, ["from"], {
        ...set.view,
        ...(set.view.update && { update: { ...set.view.update, from: [{}] } }),
      }),
  },
  "related rows ignore the rule of their table": {
    endpoints: ["terms"],
    players: ["query", "update", "create"],
    swaps: (set) => swapRules(set, ["read"], { ...set.view, read: [{}] }),
  },
  "events ignore the rule for reading": {
    endpoints: ["terms"],
    players: ["changes", "create", "update"],
    swaps: (set) => swapRules(set, ["read"], { ...set.view, read: [{}] }),
  },
};

function firstOf(alternative: Alternative): Alternative {
  return Object.fromEntries(Object.entries(alternative).slice(0, 1));
}

function withoutWhere(alternative: Alternative): Alternative {
  return Object.fromEntries(
    Object.entries(alternative).map(([name, match]) => {
      const isMember = typeof match === "object" && match !== null && "memberOf" in match;
      return [name, isMember ? { memberOf: match.memberOf } : match] as const;
    }),
  );
}

function withOpenOthers(view: View): View {
  const others = Object.entries(view.others).map(([name, other]) => [
    name,
    other.read === undefined ? other : { ...other, read: [{}] },
  ]);
  return { ...view, others: Object.fromEntries(others) };
}

/** Texts of the rules in the functions of a view, and of another view. */
function swapRules(set: ViewSet, names: readonly RuleName[], other: View): Swap[] {
  return names.flatMap((name) => [
    ...[onRow(), onRow("$t", '"$p"."person_id"')].map((place) =>
      swapRule(set, other, (each) => qualify(isAllowed(each, name, place))),
    ),
    // In the terms of a set.
    swapRule(set, other, (each) => {
      const term = isAllowed(each, name, onRow("$t", "$2"));
      return JSON.stringify(term).slice(1, -1);
    }),
  ]);
}

function swapRule(set: ViewSet, other: View, render: (set: ViewSet) => string): Swap {
  const after = render({ ...set, view: other });
  return [render(set), after === "false" ? always : after];
}

function rewrite(
  set: ViewSet,
  names: readonly RuleName[],
  map: (alternative: Alternative) => Alternative,
): Swap[] {
  const toRule = (rule: Rule | undefined) => rule?.map(map);
  const { read, create, update, delete: remove, ...rest } = set.view;
  const other: View = {
    ...rest,
    ...(read && { read: toRule(read) ?? [] }),
    ...(create && { create: toRule(create) ?? [] }),
    ...(update && { update: { from: update.from.map(map), to: update.to.map(map) } }),
    ...(remove && { delete: toRule(remove) ?? [] }),
  };
  return swapRules(set, names, other);
}

function rewriteAll(set: ViewSet, map: (alternative: Alternative) => Alternative): Swap[] {
  return rewrite(set, NAMES, map);
}

/** Plants a fault in the functions of the world's tables, and returns how many functions it changed. */
export async function plant(world: World, fault: Fault): Promise<number> {
  const { app, service, tables } = world;
  const definition = definitionOfTables(tables);
  const sets = definition.tables.flatMap(({ name }) => viewSetsOf(app.id, definition.tables, name));
  return await withDatabase(service.database.superuserUrl, async (admin) => {
    let planted = 0;
    for (const set of sets)
      for (const endpoint of fault.endpoints) {
        const edit = (text: string) => {
          const edited = fault.edit?.(text) ?? text;
          return (fault.swaps?.(set) ?? []).reduce(
            (now, [before, after]) =>
              // A text such as "K.^$" would be a pattern of the replacement.
              before === always || before === "false" ? now : now.replaceAll(before, () => after),
            edited,
          );
        };
        planted += await replace(admin, `api.${quoteName(functionName(set, endpoint))}`, edit);
      }
    if (fault.service !== undefined) {
      const { name, edit } = fault.service;
      planted += await replace(admin, `rowhouse.${quoteName(name)}`, edit);
    }
    return planted;
  });
}

/** Replaces the text of a function. Returns 1 if it changed. */
async function replace(
  admin: Database,
  name: string,
  edit: (text: string) => string,
): Promise<number> {
  const [found] = await readRows<{ text: string }>(
    admin,
    "select pg_get_functiondef(to_regproc($1)) as text",
    [name],
  );
  if (found?.text === undefined || found.text === null) return 0;
  const edited = edit(found.text);
  if (edited === found.text) return 0;
  await admin.message(`${edited}; select 1`);
  return 1;
}
