/**
 * The start and the end of a write: it sets the tenant, proves the caller, and claims the idempotency key. A used key replays its
 * response, as the caller may see it now.
 *
 * @module
 */

import { quoteLiteral, quoteName } from "../../../../db/mod.ts";
import { type ColumnSet, type Endpoint, placeholdersOf } from "../../../catalog/mod.ts";
import { callerOf, declareWho } from "../caller_terms.ts";
import { beginAs, isRow, rowsText } from "../function_terms.ts";
import { isVisible, shownColumns } from "../view_terms.ts";

/** The app and the proof are the first parameters of every function. */
const { app, proof } = placeholdersOf("get");

type KeyedEndpoint = Extract<Endpoint, "create" | "create_many" | "update" | "update_many">;

type Options = {
  /** The response, if the body knows it before the write. */
  readonly response?: string;
  /** What a replay has of a response that is too large to be stored. */
  readonly short: string;
  /** Statements after the proof and before the claim. */
  readonly first?: string;
};

/** The parts of a write's body: they use the variable `"$text"`. */
type Write = {
  readonly declared: string;
  readonly begin: string;
  /** Before a result that the key does not record. */
  readonly forget: string;
  /** Records the response in `"$text"`. */
  readonly complete: string;
};

export function beginWrite(
  table: ColumnSet,
  endpoint: KeyedEndpoint,
  { response = "null", short, first = "" }: Options,
): Write {
  const sent = placeholdersOf(endpoint).claim;
  const { claim = sent, toClaim } = callerOf(table);
  const isComputed = claim !== sent;
  const ifKeyed = (statements: string) => `if ${claim} is not null then
    ${statements}
  end if;`;
  return {
    declared: [declareWho(table), isComputed ? `${claim} bytea;` : ""].join("\n  "),
    begin: `${beginAs(table, endpoint)}
  ${isComputed ? `${claim} := ${toClaim(sent)};` : ""}
  ${first}
  ${ifKeyed(`"$text" := rowhouse.claim_key(${app}, ${proof}, ${claim}, ${response}, ${short});
    if "$text" is not null then
      return ${replayOf(table)};
    end if;`)}`,
    forget: ifKeyed(`perform rowhouse.forget_key(${app}, ${claim});`),
    complete: ifKeyed(`perform rowhouse.complete_key(${app}, ${claim}, "$text");`),
  };
}

/** The list of what a replay has of several rows, from the `"$one"."$id"` of `ids`. */
export function shortRows(table: ColumnSet, ids: string): string {
  const texts = `string_agg(${callerOf(table).toShort('"$one"."$id"')}, ',' order by "$one"."$n")`;
  return `(select ${rowsText(texts)} from unnest(${ids}) with ordinality as "$one" ("$id", "$n"))`;
}

/**
 * The replay in `"$text"` as the person may see it now: only ids, if a row has a column that the person does not see, or if the
 * person does not read the row anymore.
 */
export function replayOf(table: ColumnSet): string {
  const text = '"$text"';
  if (table.view === undefined) return text;
  const list = (names: readonly string[]) => `array[${names.map(quoteLiteral).join(", ")}]::text[]`;
  const shown = ["id", "app_id", ...shownColumns(table).map(({ name }) => name)];
  const response = `substr(${text}, 2)::jsonb`;
  const hasOther = (names: readonly string[]) =>
    `exists (select from jsonb_object_keys("$e"."$row") as "$k" ("$name") where "$k"."$name" <> all (${list(names)}))`;
  const reads = `exists (select from data.${quoteName(table.name)} as "$t"
      where ${isRow(app, `("$e"."$row" ->> 'id')::uuid`)} and (${isVisible(table)}))`;
  return `case when not starts_with(${text}, 'R') then ${text} when exists (
      select from jsonb_array_elements(coalesce(${response} -> 'rows', jsonb_build_array(${response}))) as "$e" ("$row")
      where ${hasOther(["id", "app_id"])} and (${hasOther(shown)} or not ${reads}))
    then concat('I', rowhouse.only_ids(substr(${text}, 2))) else ${text} end`;
}
