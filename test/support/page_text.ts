/** What a page says, without its markup. @module */

type Page = { text: string };

export function textOf({ text }: Page): string {
  return text
    .replace(/<[^>]+>/g, " ")
    .replace(/\s+/g, " ")
    .replaceAll("&quot;", '"');
}

/** Each row of its tables, headings included. */
export function rowsOf({ text }: Page): string[] {
  return [...text.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = ""]) =>
    textOf({ text: row }).trim(),
  );
}
