/** @jsxImportSource #html @jsxRuntime automatic */
/** Pending invitations: inviter, roles, expiry and the state of the email. @module */

import type { Html, Part } from "../../pages/mod.ts";
import {
  type Invitation,
  invitationList,
  type ListedInvitation,
} from "../../records/people/mod.ts";
import type { Visit } from "../enter.tsx";
import { type ListQuery, makeCsv, readListed, renderListTable } from "../list.tsx";
import { renderEmpty, renderPill, renderRowActions, renderText, renderTime } from "../parts.tsx";
import { INVITATIONS, toPersonPath } from "../paths.ts";
import {
  readPeopleQuery,
  renderPersonLink,
  respondWithPeopleList,
  toAsked,
  toRoleText,
  toSearchFilter,
} from "./people.tsx";

export async function handleInvitations(visit: Visit): Promise<Response> {
  const query = readPeopleQuery(visit);
  const { invitations, ...page } = await readListed(visit, invitationList, toAsked(query));
  return respondWithPeopleList(visit, {
    ...page,
    path: INVITATIONS,
    query,
    rows: invitations,
    isSearched: page.invited > 0,
    none: renderNone(query),
    render: renderInvitations,
  });
}

export const invitationsCsv = makeCsv(invitationList, toSearchFilter);

function renderNone({ search, after }: ListQuery): Html {
  if (search !== "") return renderEmpty("No matching invitations.");
  if (after !== "") return renderEmpty("No more people.");
  return renderEmpty("No pending invitations. With the CLI: rowhouse admin list-invitations");
}

function renderInvitations(invitations: readonly ListedInvitation[], now: number): Html {
  return renderListTable(invitationList, invitations, {
    label: "Invitations",
    now,
    cells: {
      email: renderPersonLink,
      roles: renderRoles,
      invitedAt: (invitation) => (
        <span class="person">
          {renderTime(invitation.invitedAt, now)}
          <span class="quiet person-address">{renderInviter(invitation)}</span>
        </span>
      ),
      state: (invitation) => (
        <span class="person">
          <span>{renderListedState(invitation)}</span>
          <span class="quiet person-address">{renderLinkEnd(invitation, now)}</span>
          <span class="quiet person-address">{renderMail(invitation, now)}</span>
        </span>
      ),
    },
    actions: renderInvitationActions,
  });
}

function renderRoles({ roles, roleCount, consoleRole }: ListedInvitation): Part {
  if (roles.length === 0 && consoleRole === null) return <span class="quiet">no app yet</span>;
  const more = roleCount - roles.length;
  return (
    <span class="invited-to">
      {consoleRole !== null && <span>Console: {toRoleText(consoleRole)}</span>}
      {roles.map(({ app, role }) => (
        <span>
          {app}: <code>{role}</code>
        </span>
      ))}
      {more > 0 && <span class="quiet">and {more} more</span>}
    </span>
  );
}

function renderListedState({ disabledAt, state }: ListedInvitation): Html {
  if (disabledAt !== null) return renderPill("disabled", "warn");
  return renderPill(state, state === "pending" ? "plain" : "warn");
}

/** The inviter; a deleted person has only an id. */
export function renderInviter({ invitedBy, invitedByEmail }: Invitation): Html {
  if (invitedByEmail !== null) return <>by {renderText(invitedByEmail)}</>;
  return invitedBy === "operator" ? (
    <>by an operator</>
  ) : (
    <>
      by <code>{invitedBy}</code>, deleted
    </>
  );
}

export function renderLinkEnd({ state, linkEndsAt }: Invitation, now: number): Html {
  if (linkEndsAt === null) return <>link no longer works</>;
  return (
    <>
      link {state === "expired" ? "ended" : "ends"} {renderTime(linkEndsAt, now)}
    </>
  );
}

/** The state of the email with the link. */
export function renderMail({ mail, mailedAt }: Invitation, now: number): Html {
  if (mail === "sent") return <>emailed {renderTime(mailedAt, now)}</>;
  if (mail === "failed") return renderPill("email failed", "bad");
  return <>{mail === "waiting" ? "email queued" : "not emailed"}</>;
}

/** The link of a disabled account has ended: its page can enable or delete the account. */
function renderInvitationActions({ id, email, disabledAt }: ListedInvitation): Part {
  if (disabledAt !== null) return undefined;
  const path = toPersonPath(id);
  return renderRowActions(<>the invitation of {renderText(email)}</>, [
    ["Resend", `${path}/resend-invitation?from=list`],
    ["Withdraw", `${path}/withdraw-invitation?from=list`, "danger"],
  ]);
}
