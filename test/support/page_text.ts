/** The text of a page without its markup, and where a response leads. @module */
import { expect } from "bun:test";

type Page = { text: string };

export function textOf({ text }: Page): string {
  return text
    .replace(/<[^>]+>/g, " ")
    .replace(/\s+/g, " ")
    .replaceAll("&quot;", '"');
}

/** Returns the text of each table row, including headings. */
export function rowsOf({ text }: Page): string[] {
  return [...text.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = ""]) =>
    textOf({ text: row }).trim(),
  );
}

/** Checks the status of a page, and that it has these parts: of its markup, or of its text. */
export function expectPage(page: Page & { status: number }, status: number, ...parts: string[]) {
  const text = `${page.text}\n${textOf(page)}`;
  const lacks = parts.filter((part) => !text.includes(part));
  expect([page.status, { lacks, text }]).toEqual([status, { lacks: [], text }]);
}

/** Checks that a response leads to this address. */
export function expectRedirect(response: Pick<Response, "status" | "headers">, location: string) {
  expect([response.status, response.headers.get("location")]).toEqual([303, location]);
}
