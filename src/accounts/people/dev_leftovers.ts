/** What `rowhouse dev` left in a database that is not its own. @module */
import { call, type Database } from "../../db/mod.ts";

export type DevLeftovers = {
  /** Enabled, with an address under `localhost`; at most 10. */
  people: { id: string; email: string }[];
  /** Live keys with the name that dev gives, at most 10. */
  keys: { app: string; keyId: string }[];
};

/** `undefined` in a database of `rowhouse dev`. `db` is a login that reads people. */
export async function findDevLeftovers(deps: { db: Database }): Promise<DevLeftovers | undefined> {
  const found = await call(deps.db, "dev_leftovers", {});
  return (found ?? undefined) as DevLeftovers | undefined;
}
