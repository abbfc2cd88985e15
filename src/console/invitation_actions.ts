/** Resends and withdraws pending invitations. Never changes a person who can sign in. @module */

import type { PersonView } from "../accounts/console/mod.ts";
import { LINK_LIFE_S, resendInvitation, withdrawInvitation } from "../accounts/people/mod.ts";
import { readParameters } from "../http/mod.ts";
import { type Html, html } from "../pages/mod.ts";
import { toDurationText } from "../std/duration.ts";
import { redirectWithNotice } from "./done.ts";
import type { Visit } from "./enter.ts";
import { renderText } from "./parts.ts";
import { isLinkMailed, renderPasswordLink } from "./password_link.ts";
import { INVITATIONS, toPersonPath } from "./paths.ts";
import {
  findBlocker,
  findLastBlocker,
  makePersonAction,
  renderName,
  respondWithPersonPage,
} from "./person_page.ts";

export const resendInvitationAction = makePersonAction({
  action: "resend_invitation",
  title: () => "Resend the invitation",
  blocker: (page) => findAccepted(page) ?? findDisabled(page) ?? findBlocker(page),
  form: ({ person }, { deps }) => ({
    fields: html`<p>${deps.hasMail && person.isConfirmed ? "This emails a new link to" : "This creates a new link for"} ${renderName(person.email)}. It works for ${toDurationText(LINK_LIFE_S)}. The previous link stops working. Roles do not change.</p>`,
    button: deps.hasMail && person.isConfirmed ? "Resend" : "Create link",
  }),
  run: async (visit, page) => {
    const { person } = page;
    const link = await resendInvitation(visit.deps, person);
    const body = renderPasswordLink(visit, { link, person });
    const title = isLinkMailed({ link, person }) ? "Invitation resent" : "Copy this link now";
    return respondWithPersonPage(page, { title, body });
  },
  cancel: toOrigin,
});

export const withdrawInvitationAction = makePersonAction({
  action: "withdraw_invitation",
  title: () => "Withdraw the invitation",
  blocker: (page) => findAccepted(page) ?? findLastBlocker(page),
  form: ({ person }) => ({
    fields: html`<p>The invitation link of ${renderName(person.email)} stops working immediately. The account, which was never used, is deleted with its roles. You can invite the address again.</p>`,
    button: "Withdraw the invitation",
    tone: "danger",
  }),
  run: async ({ deps }, { person }) => {
    await withdrawInvitation(deps, person);
    return redirectWithNotice(INVITATIONS, "withdrawn");
  },
  cancel: toOrigin,
});

function findAccepted({ person }: PersonView): Html | undefined {
  if (person.invitation !== null) return undefined;
  return html`${renderText(person.email)} has no pending invitation: it was accepted.`;
}

function findDisabled({ person }: PersonView): Html | undefined {
  if (person.disabledAt === null) return undefined;
  return html`The account of ${renderText(person.email)} is disabled: enable it first.`;
}

/** The list of invitations, or the person's page. */
function toOrigin({ context }: Visit): string {
  const from = new Map(readParameters(context.query)).get("from");
  return from === "list" ? INVITATIONS : toPersonPath(context.params["person"] ?? "");
}
