/**
 * Gives a database the code of this release: functions, triggers, policies, rights and the rows that declarations fill. One
 * transaction, which changes only what differs.
 *
 * @module
 */
import { quoteLiteral } from "../../std/quote.ts";
import { CODE, LOOKUP_ROWS } from "../code/mod.ts";
import { type Code, readCode } from "../code/statements.ts";
import type { Dialect } from "../dialect.ts";
import RENEW from "./renew_code.sql" with { type: "text" };

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

/** Statements that renew the code, and leave a {@linkcode CodeChanges} in the setting `rowhouse.renewed`. */
export function renderRenewal(dialect: Dialect, { isDry = false } = {}): string {
  const code = codeOf(dialect);
  const wanted = {
    isDry,
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
    rows: LOOKUP_ROWS,
  };
  return `set local search_path = pg_catalog, pg_temp;
set local check_function_bodies = off;
select pg_catalog.set_config('rowhouse.wanted', ${quoteLiteral(JSON.stringify(wanted))}, true);
${RENEW}`;
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
function codeOf({ service }: Dialect): Code {
  if (service === undefined) return CODE;
  const own = readCode(service.code);
  return {
    ...CODE,
    functions: { ...CODE.functions, ...own.functions },
    rights: [...CODE.rights, ...own.rights],
  };
}
