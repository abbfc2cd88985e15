/**
 * Gives a database the code of this release: functions, triggers, policies, rights and the rows that declarations fill. One
 * transaction, which changes only what differs.
 *
 * @module
 */
import { quoteLiteral } from "../../std/quote.ts";
import { CODE, CONTRACTED, LOOKUP_ROWS } from "../code/mod.ts";
import { type Code, readCode } from "../code/statements.ts";
import type { Dialect } from "../dialect.ts";
import type { Finders } from "../reader.ts";
import RENEW from "./renew_code.sql" with { type: "text" };
import RENEW_FINDERS from "./renew_finders.sql" with { type: "text" };

/** What differs, by the object's name: functions with their arguments, triggers and policies after their table. */
export type CodeChanges = Readonly<
  Record<"functions" | "triggers" | "policies", Readonly<Record<string, Change>>>
> &
  Readonly<Record<"granted" | "revoked", readonly Right[]>>;
export type Change = "new" | "changed" | "dropped";
type Right = readonly [privilege: string, object: string, grantee: string, isGrantable: boolean];

/** Of the code on every dialect, so that a conversion to a cluster does not change it. */
export function digestCode(dialects: readonly Dialect[]): string {
  const text = JSON.stringify([CODE, LOOKUP_ROWS, dialects.map(({ service }) => service?.code)]);
  return `sha256:${new Bun.CryptoHasher("sha256").update(text).digest("hex")}`;
}

/** `check` finds {@linkcode Blocker}s, also in a database that lacks tables; `try` and `renew` find all {@linkcode CodeChanges}. */
type Mode = "check" | "try" | "renew";

/** An object that is not Rowhouse's, and the function that it uses. */
export type Blocker = readonly [object: string, function: string];

/** What the database records: whether it has this code, and whether earlier releases can no longer use it. */
type Recorded = { readonly hasCode?: boolean; readonly isContracted?: boolean };

/** Statements that renew the code, and leave what they found in the setting `rowhouse.renewed`. */
export function renderRenewal(
  dialect: Dialect,
  mode: Mode,
  { hasCode = false, isContracted = false }: Recorded = {},
): string {
  const code = codeOf(dialect, isContracted ? CONTRACTED : CODE);
  const wanted = {
    keeps: dialect.service?.keeps ?? [],
    names: Object.keys(code.functions),
    functions: Object.entries(code.functions)
      .map(([name, sql]) => ({ name, sql }))
      // PostgreSQL parses these when it creates them: what they call must exist.
      .toSorted((left, right) => Number(isParsed(left)) - Number(isParsed(right))),
    defaults: code.defaults,
    rights: code.rights,
    onTables: [
      ...code.triggers.map(toProbed("triggers")),
      ...code.policies.map(toProbed("policies")),
    ],
  };
  const text = JSON.stringify({
    ...wanted,
    mode,
    hasCode,
    digest: Bun.SHA256.hash(JSON.stringify(wanted), "hex"),
  });
  return `set local search_path = pg_catalog, pg_temp;
set local check_function_bodies = off;
select pg_catalog.set_config('rowhouse.wanted', ${quoteLiteral(text)}, true);
${RENEW}${mode === "renew" ? RENEW_ROWS : ""}${mode === "check" ? "" : renderFinders(code.finders, mode)}`;
}

/** They stand alone: nothing depends on them, and they replace nothing of others. */
export function renderFinders(finders: Finders, mode: "try" | "renew"): string {
  const text = JSON.stringify({ functions: finders, mode });
  return `select pg_catalog.set_config('rowhouse.finders', ${quoteLiteral(text)}, true);
${RENEW_FINDERS}`;
}

/** Adds the number of changed rows to the setting. */
const RENEW_ROWS = `
do $rows$
declare
  statement text;
  changed bigint;
  total bigint := 0;
begin
  foreach statement in array array[${LOOKUP_ROWS.map(quoteLiteral).join(", ")}] loop
    execute statement;
    get diagnostics changed = row_count;
    total := total + changed;
  end loop;
  perform set_config('rowhouse.renewed', jsonb_set(current_setting('rowhouse.renewed')::jsonb,
    '{rows}', to_jsonb(total))::text, true);
end
$rows$;
`;

/** Whether the database had all of the code. */
export function isSame({ functions, triggers, policies, granted, revoked }: CodeChanges): boolean {
  return [functions, triggers, policies, granted, revoked].every(
    (changes) => Object.keys(changes).length === 0,
  );
}

function isParsed({ sql }: { sql: string }): boolean {
  return /\nbegin atomic\n/.test(sql);
}

function toProbed(kinds: "triggers" | "policies") {
  return (item: Code["triggers"][number]) => ({
    ...item,
    kinds,
    probe: item.sql.replace(/\bon rowhouse\.\w+/, "on rowhouse.code_probe"),
  });
}

/** With the functions that a dialect replaces. */
function codeOf({ service }: Dialect, code: Code): Code {
  if (service === undefined) return code;
  const own = readCode(service.code);
  return {
    ...code,
    functions: { ...code.functions, ...own.functions },
    rights: [...code.rights, ...own.rights],
  };
}
