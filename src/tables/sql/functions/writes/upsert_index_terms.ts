/** How an upsert finds its index, and a list the rows that exist. @module */

import { quoteLiteral, quoteName, SIGNALS } from "../../../../db/mod.ts";
import { SQL, VALUES } from "../../../../kinds/mod.ts";
import {
  type ColumnSet,
  type Constraint,
  canHaveKey,
  keyName,
  placeholdersOf,
} from "../../../catalog/mod.ts";
import { sqlType } from "../../../plan/step.ts";
import { renderRows, renderTerms, withoutCollation } from "../../index_terms.ts";
import type { SetColumn } from "../function_terms.ts";
import { shownColumns } from "../view_terms.ts";

/** Finds the rows of a list that exist, as `"$met"`, and their positions, as `"$known"`, both in the order of the ids, by the variables of {@linkcode readTarget}. */
export function findExisting(table: ColumnSet, list: string): string {
  if (table.columns.length === 0) return `"$met" := '{}'; "$known" := '{}';`;
  const source = quoteLiteral(`data.${quoteName(table.name)}`);
  return `select "$f"."met", "$f"."known" into "$met", "$known"
  from find.existing(${app}, ${source}, "$types", "$rows", coalesce("$match", 'false'), ${list}) as "$f";`;
}

/** The app is the first parameter of every function. */
const { app } = placeholdersOf("get");

/** The forms of an index, as a call names their indexes: two of releases before 0.2.0, with and without searches, and that of this release. */
const FORMS = ["plain", "former", "search"] as const;
type Form = (typeof FORMS)[number];
/** The column in the terms of a kind. */
const NAME = "$name";

type Target = { readonly unique: string; readonly indexes: string };

/**
 * Sets the parts of statements that search the index: its terms and rows, the condition of a row and the types of its values. It is
 * the index that PostgreSQL searches: a valid one, in the form that the service prefers. `isFound`: whether rows are found only by
 * their condition, also if the index cannot be searched by it; otherwise the condition is null then.
 */
export function readTarget(
  table: ColumnSet,
  { unique, indexes, isFound = false }: Target & { readonly isFound?: boolean },
): string {
  const columns = shownColumns(table);
  if (columns.length === 0)
    return `raise exception 'no such index' using errcode = '${SIGNALS.indexMissing}';`;
  const kinds = [...new Set(columns.map(({ kind }) => kind))];
  const types = toList(kinds.map((kind) => SQL[kind].type?.name));
  const ownTypes = toList(
    columns.map((column) =>
      SQL[column.kind].type === undefined ? sqlType(table, column) : undefined,
    ),
  );
  const hasKeys = kinds.some(canHaveKey);
  const toText = (part: keyof ConflictTerm) => {
    const terms = FORMS.map((form) =>
      toList(kinds.map((kind) => renderTerm(kind, form, isFound)?.[part])),
    );
    const term = `(array[${terms.join(", ")}])["$form"]["$o"."$kind"]`;
    const keyed = hasKeys
      ? `replace(${term}, ${quoteLiteral(quoteName(keyName(NAME)))}, "$o"."$key")`
      : term;
    return `replace(${keyed}, ${quoteLiteral(quoteName(NAME))}, "$o"."$name")`;
  };
  const own = [
    `(array[${columns.map(({ kind }) => kinds.indexOf(kind) + 1).join(", ")}])["$u"."$column"] as "$kind"`,
    `(${toList(columns.map(({ name }) => quoteName(name)))})["$u"."$column"] as "$name"`,
    `(${ownTypes})["$u"."$column"] as "$type"`,
    ...(hasKeys
      ? [
          `(${toList(columns.map(({ name }) => quoteName(keyName(name))))})["$u"."$column"] as "$key"`,
        ]
      : []),
  ];
  return `"$form" := (select max("$n"."$form") from unnest(${indexes}) with ordinality as "$n" ("$name", "$form")
    join pg_index as "$x" on "$x"."indexrelid" = to_regclass('data.' || quote_ident("$n"."$name"))
    where "$x"."indisvalid");
  select '"app_id", ' || string_agg(${toText("terms")}, ', '), string_agg(${toText("rows")}, ' and '),
    case when bool_and(${toText("match")} is not null) then string_agg(${toText("match")}, ' and ') end,
    string_agg(concat("$o"."$name", ' ', coalesce("$o"."$type", (${types})["$o"."$kind"])), ', ')
  into "$terms", "$rows", "$match", "$types" from (
    select ${own.join(",\n      ")}
    from unnest(${unique}) as "$u" ("$column")) as "$o";
  if "$terms" is null then
    raise exception 'no such index' using errcode = '${SIGNALS.indexMissing}';
  end if;`;
}

export type ConflictTerms = {
  readonly [Part in keyof ConflictTerm]: string | null;
};

/** How a unique index has a column of a kind, in each form; empty if an index cannot have it, `undefined` if by its value in all. */
export function renderKind(kind: SetColumn["kind"]): ConflictTerms[] | undefined {
  const terms = FORMS.flatMap((form) => {
    const { match = null, ...term } = renderTerm(kind, form, true) ?? {};
    return "terms" in term ? [{ ...term, match }] : [];
  });
  const isPlain = terms.length > 0 && terms.every((term) => term.terms === quoteName(NAME));
  return isPlain ? undefined : terms;
}

/** A column of a unique constraint in the target of `on conflict`. PostgreSQL finds an index by its terms in any order. */
type ConflictTerm = {
  readonly terms: string;
  readonly rows: string;
  /** Whether a row has the value of `"$own"`. */
  readonly match: string | undefined;
};

/** A column as the unique indexes in a form contain it; `undefined`: an index cannot contain it. */
function renderTerm(
  kind: SetColumn["kind"],
  form: Form,
  isFound: boolean,
): ConflictTerm | undefined {
  if (VALUES[kind].unindexed !== undefined) return undefined;
  const match = renderMatch(kind, form, isFound);
  if (form === "former" && canHaveKey(kind)) {
    const key = quoteName(keyName(NAME));
    const exact = SQL[kind].formerKey === "rounded" ? `, ${quoteName(NAME)}` : "";
    return { terms: `${key}${exact}`, rows: `${key} is not null`, match };
  }
  const search = form === "plain" ? {} : { search: "" };
  const index: Constraint = { kind: "key", name: "", columns: [NAME], kinds: [kind], ...search };
  const [, terms = ""] = withoutCollation(renderTerms(index)).split(`"app_id", `);
  return { terms, rows: renderRows(index), match };
}

/** No index of 0.1 is searched by a numeric, and none by a text but in the form for searches. */
function renderMatch(kind: SetColumn["kind"], form: Form, isFound: boolean): string | undefined {
  const { parts } = SQL[kind];
  const compare = (render: (column: string) => string) =>
    `${render(quoteName(NAME))} operator(pg_catalog.=) ${render(`"$own".${quoteName(NAME)}`)}`;
  const value = compare((column) => column);
  if (parts === undefined)
    return form === "former" && canHaveKey(kind) && !isFound ? undefined : value;
  if (form === "plain") return undefined;
  const { start, rest } = parts;
  const others = rest === undefined ? [] : [compare(rest.render)];
  return [compare(start.render), ...others, value].join(" and ");
}

function toList(texts: readonly (string | undefined)[]): string {
  const list = texts.map((text) => (text === undefined ? "null" : quoteLiteral(text)));
  return `array[${list.join(", ")}]::text[]`;
}
