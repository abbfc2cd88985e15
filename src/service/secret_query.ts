/**
 * Removes keys from the addresses of pages: a search form of a browser without scripts sends a
 * pasted key in its address, which stays in the browser's history. The response redirects to the
 * same page with the id of the key.
 *
 * @module
 */
import type { RequestContext } from "../http/router.ts";
import { CONSOLE_PATH } from "../identity/paths.ts";
import { redirect } from "../pages/mod.ts";
import { withoutKeySecrets } from "../std/key_secret.ts";

const API = "/v1/";
/** Pages whose parameters are only those of searches and filters; others can have codes and states of a sign-in. */
const SEARCHES: readonly string[] = [CONSOLE_PATH, "/docs"];
const SEARCH_PARAMETER = "q";

/** The redirect, if a page's address contains a key. */
export function redirectSecretQuery(
  path: string,
  { request: { method }, query }: Pick<RequestContext, "request" | "query">,
): Response | undefined {
  if (query === "" || method !== "GET" || path.startsWith(API)) return undefined;
  const isSearch = SEARCHES.some((page) => path === page || path.startsWith(`${page}/`));
  const parameters = new URLSearchParams(query);
  let hasSecret = false;
  const safe = [...parameters].map(([name, value]) => {
    const text = isSearch || name === SEARCH_PARAMETER ? withoutKeySecrets(value) : value;
    hasSecret ||= text !== value;
    return [name, text];
  });
  return hasSecret ? redirect(`${path}?${new URLSearchParams(safe)}`) : undefined;
}
