/**
 * A link with `data-dialog` opens a page with one form in a dialog. The form is sent as on its own page, and the next page
 * replaces this one. A page that first asks for the password asks in the same dialog.
 *
 * @module
 */
import { announce, element, type PageResponse, requestPage, SMALL_BUTTON } from "../dom.ts";
import { startLookups, startTypedNames } from "./inputs.ts";

export function startFormDialogs(): void {
  document.addEventListener("click", (event) => {
    const { target } = event;
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = target instanceof Element ? target.closest("a") : null;
    if (link?.dataset["dialog"] === undefined) return;
    event.preventDefault();
    storeRow(link);
    void openForm(link);
  });
}

/** Opens the page itself if it has no form that fits into a dialog: the page then states the reason. */
async function openForm(link: HTMLAnchorElement): Promise<void> {
  const url = link.href;
  const response = await requestPage(url).catch(() => undefined);
  const dialog = element("dialog", { class: "dialog", "aria-labelledby": "dialog-title" });
  if (response === undefined || !fill(dialog, response)) return location.assign(url);
  dialog.addEventListener("close", () => {
    close(dialog);
    // The menu of the link is closed, and so the link has no focus.
    if (document.activeElement === document.body)
      link.closest("[popover]")?.parentElement?.querySelector("button")?.focus();
  });
  dialog.addEventListener("click", (event) => {
    // "Cancel" leads to the page that is already behind the dialog.
    const isCancel = event.target instanceof Element && event.target.closest(".action-buttons > a");
    if (isCancel) event.preventDefault();
    if (isCancel || event.target === dialog) dialog.close();
  });
  document.querySelector("main")?.append(dialog);
  dialog.showModal();
  focusFirst(dialog);
}

function close(dialog: HTMLDialogElement): void {
  dialog.remove();
  sessionStorage.removeItem(STORED);
  // The session was renewed: forms of this page have the token of the previous one.
  if (dialog.dataset["renewed"] !== undefined) location.reload();
}

/** Shows the form of a page, or the sign-in before it. Returns whether the page has one of them. */
function fill(dialog: HTMLDialogElement, { page, url }: PageResponse): boolean {
  const form = page.querySelector<HTMLFormElement>("main form.action[method=post]");
  const again = page.querySelector<HTMLFormElement>("main form[method=post]:has(#password)");
  const shown = form ?? again;
  if (shown === null) return false;
  // A sign-in without an address is not a renewed one: the session has ended.
  if (form === null && page.querySelector("#email:not([value])") !== null) return false;
  const title = page.querySelector("main h1")?.textContent ?? "";
  shown.classList.remove("sheet");
  const heading = element("h2", { id: "dialog-title" }, form === null ? "Your password" : title);
  dialog.replaceChildren(heading, document.adoptNode(shown));
  if (form === null) askForPassword(dialog, shown, url.href);
  startTypedNames(dialog);
  startLookups(dialog);
  return true;
}

/** Sends the password and shows what follows. The page of the sign-in has the other ways, and a second factor. */
function askForPassword(dialog: HTMLDialogElement, form: HTMLFormElement, url: string): void {
  const [email, password] = [form.querySelector("#email"), form.querySelector("#password")];
  // Password managers read the address from the field.
  email?.setAttribute("readonly", "");
  password?.setAttribute("autofocus", "");
  const why = "This action needs a recent sign-in.";
  form.before(element("p", { class: "quiet" }, why));
  const cancel = element("a", { class: "button button-quiet", href: location.href }, "Cancel");
  const submit = form.querySelector("[type=submit]") ?? "";
  form.append(element("div", { class: "action-buttons" }, submit, cancel));
  form.after(
    element("p", {}, element("a", { class: SMALL_BUTTON, href: url }, "Sign in another way")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    void requestPage(form.action, new FormData(form)).then(
      (next) => showNext(dialog, next, url),
      () => location.assign(url),
    );
  });
}

function showNext(dialog: HTMLDialogElement, next: PageResponse, url: string): void {
  const notice = next.page.querySelector("main [role=alert]");
  const isRejected = next.page.querySelector("#password") !== null;
  if (!isRejected) dialog.dataset["renewed"] = "";
  if (!fill(dialog, next)) {
    location.assign(isRejected ? url : next.url);
    return;
  }
  if (isRejected && notice !== null) dialog.querySelector("h2")?.after(document.adoptNode(notice));
  announce(isRejected ? (notice?.textContent ?? "") : "Signed in");
  focusFirst(dialog);
}

/** Focuses Cancel in a form that ends something, otherwise the first field. */
function focusFirst(dialog: HTMLDialogElement): void {
  const cancel = dialog.querySelector<HTMLElement>(".action-buttons > a");
  const isEnd = dialog.querySelector(".action-buttons > .button-danger") !== null;
  const field = dialog.querySelector<HTMLElement>(
    "[autofocus], input:not([type=hidden], [readonly]), select, textarea",
  );
  (isEnd ? cancel : (field ?? cancel))?.focus();
}

// The focus after an action on a row of a list: it stays on the row, and the result is announced.

const STORED = "rowhouse.acted-row";
type StoredRow = { path: string; label: string; name: string; position: number; href: string };

function storeRow(link: HTMLAnchorElement): void {
  const row = link.closest("tr");
  const table = row?.closest<HTMLElement>("[role=region]");
  if (row === null || table === null || table === undefined) return;
  const stored: StoredRow = {
    path: location.pathname,
    label: table.ariaLabel ?? "",
    name: toName(row),
    position: row.sectionRowIndex,
    href: link.href,
  };
  sessionStorage.setItem(STORED, JSON.stringify(stored));
}

/** Focuses the row of the action: its link, if it is still there, or the row that took its place. Returns whether it did. */
export function focusActedRow(): boolean {
  const text = sessionStorage.getItem(STORED);
  if (text === null) return false;
  const stored = JSON.parse(text) as StoredRow;
  // The form's own page, if it does not fit into a dialog.
  if (stored.path !== location.pathname) return false;
  sessionStorage.removeItem(STORED);
  const notice = document.querySelector("main .notice[role=status]");
  const lists = [...document.querySelectorAll<HTMLElement>("main [role=region]")];
  const rows = lists
    .find((list) => list.ariaLabel === stored.label)
    ?.querySelectorAll<HTMLTableRowElement>("tbody tr");
  const row = findRow([...(rows ?? [])], stored);
  if (notice === null || row === undefined) return false;
  const link = [...row.querySelectorAll("a")].find(({ href }) => href === stored.href);
  row.tabIndex = -1;
  (link?.checkVisibility() === true ? link : row).focus();
  announce(notice.textContent ?? "");
  return true;
}

function findRow(rows: readonly HTMLTableRowElement[], { name, position }: StoredRow) {
  const named = rows.filter((row) => toName(row) === name);
  return (
    named.find((row) => row.sectionRowIndex === position) ??
    named[0] ??
    rows[Math.min(position, rows.length - 1)]
  );
}

function toName(row: HTMLTableRowElement): string {
  return row.cells[0]?.textContent ?? "";
}
