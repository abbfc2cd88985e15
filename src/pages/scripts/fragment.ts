/** The fragment of an address, such as a search, during a sign-in: redirects and forms lose it. @module */

const STORED = "rowhouse.fragment";

/** On a page of the sign-in: stores the fragment for the page that is opened afterwards. */
export function storeFragment(): void {
  const to = new URLSearchParams(location.search).get("to");
  if (to !== null && location.hash !== "")
    sessionStorage.setItem(STORED, JSON.stringify([to, location.hash]));
}

/** Restores the fragment of this page, once. */
export function restoreFragment(): void {
  const stored = sessionStorage.getItem(STORED);
  sessionStorage.removeItem(STORED);
  if (stored === null || location.hash !== "") return;
  const [to, hash] = JSON.parse(stored) as [to: string, hash: string];
  if (to === location.pathname + location.search) history.replaceState(null, "", hash);
}
