/**
 * The text between a page's tag and its rows: it identifies the app and the page, so that a response identifies its request
 * even if the page is empty or the response has only the tag. Pure.
 *
 * @module
 */

/** A page by its app, the hash of its column set, and its position. */
export type PageRequest = {
  readonly app: string;
  readonly set: string;
  readonly limit: number;
  readonly offset: number;
};

/** The text between a page's tag and its rows. */
export function pageHead({ app, set, limit, offset }: PageRequest): string {
  return `${app} ${set} ${limit} ${offset} `;
}
