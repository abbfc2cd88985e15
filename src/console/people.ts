/** The people: a list by address that can be searched and paged. @module */
import {
  type AnyPerson,
  type ConsolePerson,
  type ListedUser,
  listConsolePeople,
} from "../accounts/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import type { Visit } from "./enter.ts";
import { answerConsolePage } from "./frame.ts";
import {
  renderEmpty,
  renderLink,
  renderPill,
  renderRemark,
  renderTable,
  renderText,
  renderTime,
} from "./parts.ts";
import { NEW_PERSON, PEOPLE, toPersonPath } from "./paths.ts";
import { readDone } from "./person_page.ts";
import {
  ROWS_READ,
  readListQuery,
  renderNext,
  renderSearch,
  SEARCHED_PEOPLE,
  toPage,
} from "./search.ts";

export async function answerPeople({ deps, cookies, context }: Visit): Promise<Response> {
  const query = readListQuery(context.query, SEARCHED_PEOPLE);
  const { me, people } = await listConsolePeople(deps, cookies, {
    ...query,
    most: ROWS_READ,
  });
  const { shown, last } = toPage(people);
  const done = readDone(context.query);
  return answerConsolePage({
    me,
    entry: "People",
    title: "People",
    actions: renderLink("New person", NEW_PERSON, "primary", { keys: "n" }),
    body: [
      done !== undefined && renderRemark(done),
      renderSearch(PEOPLE, query, SEARCHED_PEOPLE),
      shown.length === 0 ? renderNone() : renderPeople(shown, deps.now()),
      last !== undefined && renderNext(PEOPLE, { q: query.search, after: last.email }),
    ],
  });
}

function renderNone(): Html {
  return renderEmpty(
    html`Nobody has such an address or name. By command: <code>rowhouse admin create-user ada@example.org</code>`,
    renderLink("New person", NEW_PERSON),
  );
}

function renderPeople(people: readonly ConsolePerson[], now: number): Html {
  return renderTable(
    "People",
    [
      { name: "Person" },
      { name: "State" },
      { name: "Console" },
      { name: "Apps", isNumber: true },
      { name: "Last seen" },
    ],
    people.map((person): Part[] => [
      renderPersonLink(person, toPersonPath(person.id)),
      renderState(person),
      person.consoleRole !== null && toRoleWords(person.consoleRole),
      person.apps,
      person.lastSeenAt === null
        ? html`<span class="quiet">not signed in</span>`
        : renderTime(person.lastSeenAt, now),
    ]),
  );
}

/** The name and under it the address; the address alone where there is no name. */
export function renderPersonLink({ displayName, email }: ListedUser, path: string): Html {
  return html`<span class="person"><a class="row-name" href="${path}">${renderText(displayName ?? email)}</a>${displayName !== null && html`<span class="quiet person-address">${renderText(email)}</span>`}</span>`;
}

/** Whether somebody can sign in, and if not, why. */
export function renderState({ disabledAt, hasPassword, hasProvider }: AnyPerson): Part {
  if (disabledAt !== null) return renderPill("disabled", "warn");
  return hasPassword || hasProvider
    ? html`<span class="quiet">active</span>`
    : renderPill("no password yet");
}

export function toRoleWords(role: NonNullable<ListedUser["consoleRole"]>): string {
  return role === "super_admin" ? "super admin" : "admin";
}
