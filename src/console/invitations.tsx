/** Pending invitations: inviter, roles, expiry and the state of the email. @module */
import { type Invitation, invitationList, type ListedInvitation } from "../accounts/people/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import type { Visit } from "./enter.tsx";
import { makeCsv, readListed } from "./list_csv.ts";
import { renderListTable } from "./list_table.ts";
import { renderEmpty, renderPill, renderText, renderTime } from "./parts.tsx";
import { INVITATIONS, toPersonPath } from "./paths.ts";
import {
  readPeopleQuery,
  renderPersonLink,
  respondWithPeopleList,
  toAsked,
  toRoleText,
  toSearchFilter,
} from "./people.tsx";
import type { ListQuery } from "./search.tsx";

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
      invitedAt: (invitation) =>
        html`<span class="person">${renderTime(invitation.invitedAt, now)}<span class="quiet person-address">${renderInviter(invitation)}</span></span>`,
      state: (invitation) =>
        html`<span class="person"><span>${renderListedState(invitation)}</span><span class="quiet person-address">${renderLinkEnd(invitation, now)}</span><span class="quiet person-address">${renderMail(invitation, now)}</span></span>`,
    },
    actions: renderInvitationActions,
  });
}

function renderRoles({ roles, roleCount, consoleRole }: ListedInvitation): Part {
  if (roles.length === 0 && consoleRole === null)
    return html`<span class="quiet">no app yet</span>`;
  const more = roleCount - roles.length;
  return html`<span class="invited-to">${consoleRole !== null && html`<span>Console: ${toRoleText(consoleRole)}</span>`}${roles.map(({ app, role }) => html`<span>${app}: <code>${role}</code></span>`)}${more > 0 && html`<span class="quiet">and ${more} more</span>`}</span>`;
}

function renderListedState({ disabledAt, state }: ListedInvitation): Html {
  if (disabledAt !== null) return renderPill("disabled", "warn");
  return renderPill(state, state === "pending" ? "plain" : "warn");
}

/** The inviter; a deleted person has only an id. */
export function renderInviter({ invitedBy, invitedByEmail }: Invitation): Html {
  if (invitedByEmail !== null) return html`by ${renderText(invitedByEmail)}`;
  return invitedBy === "operator"
    ? html`by an operator`
    : html`by <code>${invitedBy}</code>, deleted`;
}

export function renderLinkEnd({ state, linkEndsAt }: Invitation, now: number): Html {
  if (linkEndsAt === null) return html`link no longer works`;
  return html`link ${state === "expired" ? "ended" : "ends"} ${renderTime(linkEndsAt, now)}`;
}

/** The state of the email with the link. */
export function renderMail({ mail, mailedAt }: Invitation, now: number): Html {
  if (mail === "sent") return html`emailed ${renderTime(mailedAt, now)}`;
  if (mail === "failed") return renderPill("email failed", "bad");
  return html`${mail === "waiting" ? "email queued" : "not emailed"}`;
}

function renderInvitationActions({ id, email, disabledAt }: ListedInvitation): Html {
  const path = toPersonPath(id);
  const heard = html`<span class="visually-hidden"> the invitation of ${renderText(email)}</span>`;
  return html`<span class="row-actions">${disabledAt === null && html`<a class="button button-quiet button-small" data-dialog href="${path}/resend-invitation?from=list">Resend${heard}</a>`}
<a class="button button-danger button-small" data-dialog href="${path}/withdraw-invitation?from=list">Withdraw${heard}</a></span>`;
}
