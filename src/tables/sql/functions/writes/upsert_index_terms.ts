/** How unique indexes have columns, by their kinds: for what finds rows by the values of a constraint. @see ../../../../db/code/tables/writes.sql @module */

import { quoteName } from "../../../../db/mod.ts";
import { SQL, VALUES } from "../../../../kinds/mod.ts";
import { type Constraint, canHaveKey, keyName } from "../../../catalog/mod.ts";
import { renderRows, renderTerms, withoutCollation } from "../../index_terms.ts";
import type { SetColumn } from "../function_terms.ts";

/** The forms of an index, as a call names their indexes: two of releases before 0.2.0, with and without searches, and that of this release. */
const FORMS = ["plain", "former", "search"] as const;
type Form = (typeof FORMS)[number];
/** The column in the terms of a kind. */
const NAME = "$name";

export type ConflictTerms = {
  readonly [Part in keyof ConflictTerm]: string | null;
};

/** How a unique index has a column of a kind, in each form; empty if an index cannot have it, `undefined` if by its value in all. */
export function renderKind(kind: SetColumn["kind"]): ConflictTerms[] | undefined {
  const terms = FORMS.flatMap((form) => {
    const { match = null, ...term } = renderTerm(kind, form) ?? {};
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
function renderTerm(kind: SetColumn["kind"], form: Form): ConflictTerm | undefined {
  if (VALUES[kind].unindexed !== undefined) return undefined;
  const match = renderMatch(kind, form);
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

/** No index is searched by a text but in the form for searches. */
function renderMatch(kind: SetColumn["kind"], form: Form): string | undefined {
  const { parts } = SQL[kind];
  const compare = (render: (column: string) => string) =>
    `${render(quoteName(NAME))} operator(pg_catalog.=) ${render(`"$own".${quoteName(NAME)}`)}`;
  const value = compare((column) => column);
  if (parts === undefined) return value;
  if (form === "plain") return undefined;
  const { start, rest } = parts;
  const others = rest === undefined ? [] : [compare(rest.render)];
  return [compare(start.render), ...others, value].join(" and ");
}
