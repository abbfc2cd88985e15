/** Parts that several bodies of write functions share. @module */
import type { ColumnSet, FunctionSite } from "../catalog/mod.ts";
import { quoteLiteral } from "../db/mod.ts";
import { recordChanges } from "./function_terms.ts";

export function recordRow(
  table: ColumnSet,
  site: FunctionSite,
  { app, id }: { app: string; id: string },
): string {
  return recordChanges(site, `values (${app}, ${quoteLiteral(table.name)}, ${id})`);
}

type Claim = { app: string; proof: string; claim: string; response: string; short: string };

/** With an idempotency key, claims the key before writing. A used key replays its response. */
export function claimKey({ app, proof, claim, response, short }: Claim): string {
  return `if ${claim} is not null then
    "$text" := rowhouse.claim_key(${app}, ${proof}, ${claim}, ${response}, ${short});
    if "$text" is not null then
      return "$text";
    end if;
  end if;`;
}

/** Records the response of a write that claimed its key. */
export function completeKey({ app, claim }: Pick<Claim, "app" | "claim">): string {
  return `if ${claim} is not null then
    perform rowhouse.complete_key(${app}, ${claim}, "$text");
  end if;`;
}

/** The text of a row with only its id. */
export function idText(id: string): string {
  return `concat('{"id":"', ${id}, '"}')`;
}
