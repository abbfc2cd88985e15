/** Pages of the server, read by a script: what it shows is what the server rendered. @module */

export type PageResponse = {
  status: number;
  /** The address after redirects. */
  url: URL;
  page: Document;
};

/** Gets a page, or sends a form and gets the next page. @throws {Error} without a response, or if it is no page */
export function requestPage(url: string, form?: FormData): Promise<PageResponse> {
  // Not fetch(): only this hands out a document without turning text into markup, which the page's policy forbids.
  const request = new XMLHttpRequest();
  request.open(form === undefined ? "GET" : "POST", url);
  request.responseType = "document";
  const response = new Promise<PageResponse>((resolve, reject) => {
    request.addEventListener("error", () => reject(new Error(`No response from ${url}`)));
    request.addEventListener("load", () => {
      const { status, responseURL, responseXML: page } = request;
      if (page === null) reject(new Error(`No page at ${url}`));
      else resolve({ status, url: new URL(responseURL), page });
    });
  });
  request.send(form === undefined ? null : toText(form));
  return response;
}

function toText(form: FormData): URLSearchParams {
  const text = new URLSearchParams();
  for (const [name, value] of form) if (typeof value === "string") text.append(name, value);
  return text;
}
