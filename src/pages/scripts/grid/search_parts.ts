/** What a search shows beside its rows: its progress, and the line with its range and pages. @module */
import { announce, element, makeButton } from "../dom.ts";

const inDigits = (count: number) => count.toLocaleString("en");

export function hideProgress(): void {
  document.getElementById("search-progress")?.remove();
}

type Progress = {
  /** The form above the rows. */
  readonly form: HTMLElement | undefined;
  readonly cancel: () => void;
  /** The text of the button that ends it. */
  readonly button?: "Cancel" | "Stop";
  /** The known number of all rows. */
  readonly total: () => number | undefined;
};

/** The progress of a search, with a button that cancels it. */
export function showProgress({ form, cancel, button: name = "Cancel", total }: Progress) {
  hideProgress();
  const bar = element("progress", { "aria-label": "Search" });
  const text = element("span", {}, "Searching…");
  const button = makeButton(name, cancel);
  const line = element("p", { id: "search-progress", class: "search-progress" }, bar, text, button);
  form?.after(line);
  return {
    show: (searched: number | undefined, count: number) => {
      if (searched === undefined) {
        text.textContent = `Searching… ${inDigits(count)} found`;
        return;
      }
      const known = total();
      const of = known === undefined ? "" : ` of ${inDigits(Math.max(known, searched))}`;
      if (known !== undefined)
        Object.assign(bar, { max: Math.max(known, searched), value: searched });
      text.textContent = `${inDigits(searched)}${of} searched, ${inDigits(count)} found`;
    },
    end: (reason: string | undefined) => {
      if (reason === undefined) return line.remove();
      line.replaceChildren(reason);
      line.classList.add("notice", "notice-error");
      announce(reason);
    },
  };
}

/** The line above the rows of a search. */
export function showPager(range: string, links: readonly HTMLElement[]): void {
  document.querySelector("[data-rows] > .pager")?.remove();
  const line = element("p", { class: "quiet", "data-range": "found" }, range);
  const nav = element("nav", { class: "pager", "aria-label": "Pages" }, line);
  nav.append(element("div", { class: "pager-links" }, ...links));
  document.querySelector("[data-rows]")?.prepend(nav);
}

type Found = { readonly count: number | undefined } & (
  | { readonly kind: "ids"; readonly searched: number; readonly isCut: boolean }
  | { readonly kind: "pages" }
);

type Shown = { readonly start: number; readonly count: number; readonly isStopped: boolean };

export function describeFound(of: Found, { start, count, isStopped }: Shown): string {
  const all = of.count === undefined ? "" : ` of ${inDigits(of.count)}`;
  const rows =
    count === 0
      ? "No rows found"
      : `Rows ${inDigits(start + 1)} to ${inDigits(start + count)}${all} found`;
  if (isStopped) return `${rows} so far: the search was stopped`;
  return of.kind === "ids" && of.isCut
    ? `${rows} in the first ${inDigits(of.searched)} rows; the table has more`
    : rows;
}
