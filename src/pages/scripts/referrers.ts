/** Searches the rows that reference a row when their list opens, and links to the first results. @module */
import { element } from "./dom.ts";
import { makeSearcher } from "./search_worker.ts";

const MAX_LINKS = 20;

export function startReferrers(): void {
  // The event does not bubble.
  document.addEventListener("toggle", ({ target }) => void onToggle(target), true);
}

async function onToggle(target: EventTarget | null): Promise<void> {
  if (!(target instanceof HTMLDetailsElement) || !target.open) return;
  const { referrer, referrerApi, referrerColumn, referrerId, referrerLabel } = target.dataset;
  const list = target.querySelector("ul");
  const form = target.closest("form");
  if (referrer === undefined || referrerColumn === undefined || list === null || form === null)
    return;
  // The link opens the search of the script, which reads more rows than the server's.
  const all = target.querySelector<HTMLAnchorElement>(":scope > a");
  all?.setAttribute("href", `${referrer}#where=${referrerColumn}.eq.${referrerId}`);
  list.replaceChildren(element("li", { class: "quiet" }, "Searching…"));
  const result = await makeSearcher().run(form.dataset["worker"] ?? "", {
    url: new URL(referrerApi ?? "", location.href).href,
    columns: [{ name: referrerColumn, kind: "ref", required: false }],
    state: {
      text: "",
      conditions: [{ column: referrerColumn, operator: "eq", value: referrerId ?? "" }],
      order: undefined,
    },
    hasFilters: form.dataset["hasFilters"] !== undefined,
    label: referrerLabel ?? "id",
  });
  if (result?.kind !== "found") {
    list.replaceChildren(element("li", {}, result?.reason ?? "The search was canceled."));
    return;
  }
  const { ids, labels, isCut } = result;
  const links = ids.slice(0, MAX_LINKS).map((id, index) => {
    const href = `${referrer}/rows/${id}`;
    return element("li", {}, element("a", { href }, labels[index] || id));
  });
  const count = ids.length === 1 ? "1 row" : `${ids.length.toLocaleString("en")} rows`;
  const more = element("li", { class: "quiet" }, isCut ? `${count} found so far` : count);
  list.replaceChildren(...links, more);
}
