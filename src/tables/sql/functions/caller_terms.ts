/**
 * Who calls a function: an app with an API key, or a person of a view, who has a key of another kind. What a body declares, proves
 * and records of the caller. Everything else that depends on the caller is a right: `view_terms.ts`.
 *
 * @module
 */

import { quoteLiteral } from "../../../db/mod.ts";
import { type ColumnSet, placeholdersOf, type View } from "../../catalog/mod.ts";
import { WHO } from "./view_terms.ts";

/** The app is the first parameter of every function. */
const { app: APP, proof: PROOF } = placeholdersOf("get");

type Caller = {
  /** The caller's variables. */
  readonly declared: string;
  /** The statements that prove a call, up to the condition that it has no proof. */
  readonly prove: (scope: "read" | "write", table: string) => string;
  /** The person, as an expression; of an API key, `null`. */
  readonly person: string;
  /** The part of a row that every caller who wrote it may read. */
  readonly toShort: (id: string) => string;
  /** A claim of an idempotency key: another person's key is another key. */
  readonly toClaim: (sent: string) => string;
  /** The variable of a claim, if it is computed; otherwise what was sent. */
  readonly claim: string | undefined;
  /** The call that raises why a proof does not allow a write. */
  readonly rejectWrite: (table: string, claim: string) => string;
};

const APP_CALLER: Caller = {
  ...{ declared: "", person: "null", claim: undefined },
  prove: (scope, table) =>
    `if not rowhouse.prove_${scope}(${[APP, PROOF, quoteLiteral(table)].join(", ")})`,
  toShort: (id) => `concat('{"id":"', ${id}, '"}')`,
  toClaim: (sent) => sent,
  rejectWrite: (table, claim) =>
    `rowhouse.reject_write(${[APP, PROOF, quoteLiteral(table), claim].join(", ")})`,
};

/** No function for API keys accepts a person's key, and the reverse. */
function toPerson({ app, roles }: View): Caller {
  const list = `array[${roles.map(quoteLiteral).join(", ")}]::text[]`;
  return {
    declared: `${WHO} uuid;`,
    person: WHO,
    prove: (scope, table) => `if ${APP} = ${quoteLiteral(app)}::uuid then
    ${WHO} := rowhouse.prove_person_${scope}(${[APP, PROOF, quoteLiteral(table), list].join(", ")});
  end if;
  if ${WHO} is null`,
    toShort: (id) => `concat('{"id":"', ${id}, '","app_id":"', ${APP}, '"}')`,
    toClaim: (sent) => `rowhouse.claim_of(${WHO}, ${sent})`,
    claim: '"$claim"',
    rejectWrite: (table, claim) =>
      `rowhouse.reject_person_write(${[APP, PROOF, quoteLiteral(table), list, claim].join(", ")})`,
  };
}

export function callerOf({ view }: ColumnSet): Caller {
  return view === undefined ? APP_CALLER : toPerson(view);
}

/** The declarations of the caller's variables. */
export function declareWho(table: ColumnSet): string {
  return callerOf(table).declared;
}
