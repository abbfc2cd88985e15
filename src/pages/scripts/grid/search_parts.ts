/** What a search shows beside its rows: its progress, and the line with its range and pages. @module */
import { inDigits } from "../../../std/count.ts";
import { announce, element } from "../dom.ts";

/** A shorter search shows no progress. */
const SHOWN_AFTER_MS = 300;

let timer: ReturnType<typeof setTimeout> | undefined;

/** Also of a search that has not shown it yet. */
export function hideProgress(): void {
  clearTimeout(timer);
  document.getElementById("search-progress")?.remove();
}

/** The progress of a search, and the reason of its failure. The rows before it stay. */
export function showProgress() {
  hideProgress();
  const bar = element("progress", { "aria-label": "Search" });
  const line = element("p", { id: "search-progress", class: "search-progress" }, bar, "Searching…");
  const show = () => document.querySelector("form.row-search")?.after(line);
  timer = setTimeout(show, SHOWN_AFTER_MS);
  return {
    end: (reason?: string) => {
      clearTimeout(timer);
      if (reason === undefined) return line.remove();
      line.replaceChildren(reason);
      line.classList.add("notice", "notice-error");
      show();
      announce(reason);
    },
  };
}

/** The line below the rows of a search; without rows, only links. */
export function showPager(range: string, links: readonly HTMLElement[]): void {
  document.querySelector("[data-rows] > .pager")?.remove();
  if (range === "" && links.length === 0) return;
  const line = element("p", { class: "quiet", "data-range": "found" }, range);
  const nav = element("nav", { class: "pager", "aria-label": "Pages" }, line);
  nav.append(element("div", { class: "pager-links" }, ...links));
  document.querySelector("[data-rows]")?.append(nav);
}

type Shown = { readonly start: number; readonly count: number };

export function describeFound(total: number | undefined, { start, count }: Shown): string {
  const all = total === undefined ? "" : ` of ${inDigits(total)}`;
  return `Rows ${inDigits(start + 1)} to ${inDigits(start + count)}${all} found`;
}
