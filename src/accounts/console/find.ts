/** What a search in the Console finds. @module */
import { type ConsoleDeps, callConsole, type ShownCookies } from "../actions/action.ts";
import type { Shown } from "./apps.ts";

export type ConsoleFindings = {
  apps: { slug: string; disabledAt: string | null }[];
  people: { id: string; email: string; displayName: string | null }[];
  tables: { name: string; owner: string }[];
  keys: { keyId: string; name: string; app: string; revokedAt: string | null }[];
};

/** At most `limit` of each kind, the nearest first. @throws as {@linkcode callConsole} */
export async function findInConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { search, limit }: { search: string; limit: number },
): Promise<Shown<ConsoleFindings>> {
  const found = await callConsole(deps, cookies, "console_find", { search, max_rows: limit });
  return found as Shown<ConsoleFindings>;
}
