/**
 * What a function that lists puts between a page's tag and its rows: which page of which app it is, so that an answer tells
 * by itself whose it is, even where the page is empty or its tag comes alone. Pure.
 *
 * @module
 */

/** A page by its app, the hash of its table's columns, and its place. */
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
