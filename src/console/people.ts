/** The list of people and their sign-in state. @module */
import { type ConsolePerson, readConsole } from "../accounts/console/mod.ts";
import type { ListedUser } from "../accounts/people/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import type { Visit } from "./enter.ts";
import { renderEmpty, renderLink, renderPill, renderTable, renderTime } from "./parts.ts";
import { NEW_PERSON, PEOPLE } from "./paths.ts";
import {
  readPeopleQuery,
  renderPersonLink,
  respondWithPeopleList,
  toPeopleValues,
} from "./people_list.ts";

export async function handlePeople(visit: Visit): Promise<Response> {
  const query = readPeopleQuery(visit);
  const { people, ...page } = await readConsole(visit.deps, "list_people", toPeopleValues(query));
  return respondWithPeopleList(visit, {
    ...page,
    path: PEOPLE,
    query,
    rows: people,
    isSearched: true,
    none: renderNone(),
    render: renderPeople,
  });
}

function renderNone(): Html {
  return renderEmpty(
    html`No matching people. With the CLI: <code>rowhouse admin create-user ada@example.org</code>`,
    renderLink("Invite people", NEW_PERSON),
  );
}

function renderPeople(people: readonly ConsolePerson[], now: number): Html {
  return renderTable(
    "People",
    ["Person", "State", "Console", { name: "Apps", isNumber: true }, "Last seen"],
    people.map((person): Part[] => [
      renderPersonLink(person),
      renderState(person),
      person.consoleRole !== null && toRoleText(person.consoleRole),
      person.apps,
      person.lastSeenAt === null
        ? html`<span class="quiet">Never signed in</span>`
        : renderTime(person.lastSeenAt, now),
    ]),
  );
}

/** A person's sign-in state. */
export function renderState(person: ListedUser): Part {
  const { disabledAt, hasPassword, hasProvider, invitationState } = person;
  if (disabledAt !== null) return renderPill("disabled", "warn");
  if (invitationState !== null) return renderInvitationState(invitationState);
  return hasPassword || hasProvider
    ? html`<span class="quiet">active</span>`
    : renderPill("no password yet");
}

function renderInvitationState(state: "pending" | "expired"): Html {
  return state === "pending" ? renderPill("invited") : renderPill("invitation expired", "warn");
}

export function toRoleText(role: NonNullable<ListedUser["consoleRole"]>): string {
  return role === "super_admin" ? "super admin" : "admin";
}
