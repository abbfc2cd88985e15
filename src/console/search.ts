/** Lists of people: searched by address and name, and paged by address. @module */
import { readParameters } from "../http/mod.ts";
import { type Html, html } from "../pages/mod.ts";
import { renderLink } from "./parts.ts";

/** How many a page shows. */
export const PAGE_PEOPLE = 50;

export type PeopleQuery = { search: string; after: string };

export function readPeopleQuery(query: string): PeopleQuery {
  const given = new Map(readParameters(query));
  const read = (name: string) => (given.get(name) ?? "").replaceAll("\0", "").trim().slice(0, 254);
  return { search: read("q").toLowerCase(), after: read("after") };
}

export function renderPeopleSearch(path: string, { search }: PeopleQuery): Html {
  return html`<form class="search" method="get" action="${path}" role="search" aria-label="Find a person">
<input type="text" name="q" value="${search}" maxlength="254" aria-label="Address or name" placeholder="Address or name" autocomplete="off" spellcheck="false" autocapitalize="none">
<button class="button button-quiet" type="submit">Search</button>${search !== "" && renderLink("Clear", path)}</form>`;
}

/** The way on, where there are more than a page shows. */
export function renderNextPeople(
  path: string,
  { search }: PeopleQuery,
  people: readonly { email: string }[],
): Html | false {
  const last = people.length > PAGE_PEOPLE && people[PAGE_PEOPLE - 1];
  if (!last) return false;
  const query = new URLSearchParams({ ...(search === "" ? {} : { q: search }), after: last.email });
  return html`<p>${renderLink("Next page", `${path}?${query.toString()}`)}</p>`;
}
