/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The list of people and their sign-in state, and what it shares with the lists of invitations and of an app's people.
 *
 * @module
 */

import type { Html, Part } from "../../pages/mod.ts";
import { unknownPerson } from "../../records/actions/mod.ts";
import type { ConsoleVisitor } from "../../records/console/mod.ts";
import { type ListedUser, peopleList, sessionList } from "../../records/people/mod.ts";
import { isUuid } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import {
  type ListQuery,
  makeCsv,
  readListed,
  readListQuery,
  renderListLinks,
  renderListTable,
  renderSearch,
  type Searched,
  toListLinks,
  toPage,
} from "../list.tsx";
import { renderEmpty, renderLink, renderPill, renderTabs, renderText } from "../parts.tsx";
import { INVITATIONS, NEW_PERSON, PEOPLE, renderDone, toPersonPath } from "../paths.ts";

export async function handlePeople(visit: Visit): Promise<Response> {
  const query = readPeopleQuery(visit, peopleList);
  const { users, ...page } = await readListed(visit, peopleList, {
    ...toAsked(query),
    sort: query.sort,
  });
  return respondWithPeopleList(visit, {
    ...page,
    path: PEOPLE,
    query,
    rows: users,
    isSearched: true,
    none: renderNone(),
    render: (people, now) =>
      renderListTable(peopleList, people, {
        label: "People",
        now,
        sorted: { path: PEOPLE, query },
        cells: {
          email: renderPersonLink,
          invitationState: renderState,
          consoleRole: ({ consoleRole }) => consoleRole !== null && toRoleText(consoleRole),
          lastSeenAt: ({ lastSeenAt }) =>
            lastSeenAt === null ? <span class="quiet">Never signed in</span> : undefined,
        },
      }),
  });
}

export const peopleCsv = makeCsv(peopleList, toSearchFilter);

function renderNone(): Html {
  return renderEmpty(
    <>
      No matching people. With the CLI: <code>rowhouse admin create-user ada@example.org</code>
    </>,
    renderLink("Invite people", NEW_PERSON),
  );
}

export function renderState(person: ListedUser): Part {
  const { disabledAt, hasPassword, hasProvider, invitationState } = person;
  if (disabledAt !== null) return renderPill("disabled", "warn");
  if (invitationState !== null) return renderInvitationState(invitationState);
  return hasPassword || hasProvider ? (
    <span class="quiet">active</span>
  ) : (
    renderPill("no password yet")
  );
}

function renderInvitationState(state: "pending" | "expired"): Html {
  return state === "pending" ? renderPill("invited") : renderPill("invitation expired", "warn");
}

export function toRoleText(role: NonNullable<ListedUser["consoleRole"]>): string {
  return role === "super_admin" ? "super admin" : "admin";
}

const SEARCHED: Searched = { what: "a person", label: "Address or name", maxLength: 254 };

/** The search and page in the address of a list. */
export function readPeopleQuery(
  { context }: Visit,
  list?: { sorts?: readonly string[] },
): ListQuery {
  return readListQuery(context.query, SEARCHED, list);
}

export function toAsked({ expression, after }: ListQuery) {
  return { after, filter: { search: expression } };
}

export function toSearchFilter(visit: Visit) {
  return toAsked(readPeopleQuery(visit)).filter;
}

type PeopleList<Row> = {
  path: string;
  query: ListQuery;
  rows: readonly Row[];
  isSearched: boolean;
  isWhole?: boolean | undefined;
  /** The text of an empty list. */
  none: Html;
  render: (page: readonly Row[], now: number) => Html;
};

/** The notice, the search, a page of rows, and the link to the next page. */
export function renderPeopleList<Row extends { email: string }>(
  visit: Visit,
  { path, query, rows, isSearched, isWhole, none, render }: PeopleList<Row>,
): Part[] {
  const { page, last } = toPage(rows);
  return [
    renderDone(visit),
    isSearched && renderSearch(path, query, SEARCHED),
    page.length === 0 ? none : render(page, visit.deps.now()),
    page.length > 0 && renderListLinks({ path, isWhole, ...toListLinks(query, last?.email) }),
  ];
}

/** A page of the entry People, with the number of invitations. */
export function respondWithPeopleList<Row extends { email: string }>(
  visit: Visit,
  { me, invited, ...list }: PeopleList<Row> & { me: ConsoleVisitor; invited: number },
): Response {
  return respondWithConsolePage({
    me,
    title: "People",
    ...(list.path === INVITATIONS ? { part: "Invitations" } : {}),
    actions: renderLink("Invite people", NEW_PERSON, "primary", { keys: "n" }),
    tabs: renderTabs(
      "People",
      [
        { name: "All people", path: PEOPLE },
        { name: "Invitations", path: INVITATIONS, count: invited },
      ],
      list.path === PEOPLE ? "All people" : "Invitations",
    ),
    body: renderPeopleList(visit, list),
  });
}

/** The address, by which lists are sorted, with the name below it. */
export function renderPersonLink({
  id,
  displayName,
  email,
}: Pick<ListedUser, "id" | "displayName" | "email">): Html {
  return (
    <span class="person">
      <a class="row-name" href={toPersonPath(id)}>
        {renderText(email)}
      </a>
      {displayName !== null && <span class="quiet person-address">{renderText(displayName)}</span>}
    </span>
  );
}

/** @throws {Problem} not_found */
export const sessionsCsv = makeCsv(sessionList, ({ deps, context }) => {
  const { person = "" } = context.params;
  // A malformed id belongs to no person.
  if (!isUuid(person)) throw unknownPerson();
  return { email: null, person, max_idle_s: deps.sessionIdleS };
});
