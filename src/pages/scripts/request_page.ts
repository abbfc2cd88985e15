/** Requests pages that the server rendered. @module */

export type PageResponse = {
  status: number;
  /** The address after redirects. */
  url: URL;
  page: Document;
};

let started = 0;
let pending = 0;
const listeners: (() => void)[] = [];

/** Whether a request is open, or its response is not handled yet. */
export function isRequesting(): boolean {
  return pending > 0;
}

/** The number of pages requested so far. Each requested row has the number of its page in `data-requested`. */
export function countRequests(): number {
  return started;
}

/** Calls the listener whenever all responses have been handled. */
export function onRequested(listener: () => void): void {
  listeners.push(listener);
}

/** Gets a page, or sends a form and gets the next page. @throws {Error} no response, or the response is not a page */
export function requestPage(url: string, form?: FormData): Promise<PageResponse> {
  // XMLHttpRequest parses the document. With fetch(), a script would turn text into markup, which the page's policy forbids.
  const request = new XMLHttpRequest();
  const number = ++started;
  request.open(form === undefined ? "GET" : "POST", url);
  request.responseType = "document";
  const response = new Promise<PageResponse>((resolve, reject) => {
    request.addEventListener("error", () => reject(new Error(`No response from ${url}`)));
    request.addEventListener("load", () => {
      const { status, responseURL, responseXML: page } = request;
      if (page === null) reject(new Error(`No page at ${url}`));
      else resolve({ status, url: new URL(responseURL), page: numberRows(page, number) });
    });
  });
  pending++;
  // In a separate task: code that awaits the response runs first, and may request the next page.
  request.addEventListener("loadend", () => setTimeout(end));
  request.send(form === undefined ? null : toText(form));
  return response;
}

function numberRows(page: Document, number: number): Document {
  for (const row of page.querySelectorAll<HTMLElement>("tr[data-row-id]"))
    row.dataset["requested"] = String(number);
  return page;
}

function end(): void {
  pending--;
  if (pending === 0) for (const listener of listeners) listener();
}

function toText(form: FormData): URLSearchParams {
  const text = new URLSearchParams();
  for (const [name, value] of form) if (typeof value === "string") text.append(name, value);
  return text;
}
