/** Finds accounts and keys from `rowhouse dev`: older releases used the database in the shell's DATABASE_URL. @module */
import type { Database } from "../../db/mod.ts";
import { type DevLeftovers, findDevLeftovers } from "../../records/people/mod.ts";
import { type CheckResult, warn } from "../check_result.ts";
import { readsPeople } from "../setting_checks.ts";

const NOTHING: DevLeftovers = { people: [], keys: [] };

/** No results if none of the logins can read accounts. */
export async function checkDevLeftovers(logins: readonly Database[]): Promise<CheckResult[]> {
  for (const db of logins) {
    if (await readsPeople(db)) return evaluateDevLeftovers(await findDevLeftovers({ db }));
  }
  return [];
}

function evaluateDevLeftovers({ people, keys }: DevLeftovers = NOTHING): CheckResult[] {
  const about = "rowhouse dev";
  const results: CheckResult[] = [];
  if (people.length > 0)
    results.push(
      warn(about, {
        message: `accounts have an address under localhost: ${people.map(({ email }) => email).join(", ")}; rowhouse dev prints the passwords of such accounts`,
        remedy:
          "if you do not need an account, run rowhouse admin disable with its address, or rowhouse admin delete-user",
      }),
    );
  if (keys.length > 0)
    results.push(
      warn(about, {
        message: `issued keys that are still active: ${keys.map(({ app, keyId }) => `${keyId} of ${app}`).join(", ")}; each has every scope and no expiry`,
        remedy: "if you do not need a key, run rowhouse admin revoke-key with its id",
      }),
    );
  return results;
}
