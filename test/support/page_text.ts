/** The text of a page without its markup. @module */

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
