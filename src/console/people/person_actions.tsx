/** @jsxImportSource #html @jsxRuntime automatic */
/** Actions on an account: password link, invitation, address, Console role and second factor. @module */

import { readParameters } from "../../http/mod.ts";
import type { Html } from "../../pages/mod.ts";
import type { PersonView } from "../../records/console/mod.ts";
import {
  CONSOLE_ROLE,
  type CreatedLink,
  changeEmail,
  giveConsoleRole,
  makePasswordLink,
  NEW_EMAIL,
  removeConsoleRole,
  resendInvitation,
  runOnPerson,
  withdrawInvitation,
} from "../../records/people/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { LINK_LIFE_S } from "../../std/limits.ts";
import type { Visit } from "../enter.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import { renderText } from "../parts.tsx";
import { ACTIVITY, INVITATIONS, redirectWithNotice, toPersonPath } from "../paths.ts";
import { PERSON_ENDINGS } from "./person_endings.tsx";
import {
  COPY_LINK,
  findBlocker,
  findLastBlocker,
  hasFactor,
  isLinkMailed,
  makePersonAction,
  renderName,
  renderPasswordLink,
  toPersonCrumbs,
} from "./person_parts.tsx";
import { newRoleAction } from "./person_roles.tsx";

/** The pages below a person's page, by the last part of their path. */
export const PERSON_PAGES = {
  "password-link": makePersonAction({
    action: "make_password_link",
    title: () => "New password link",
    blocker: findBlocker,
    form: ({ person }) => ({
      intro: (
        <>
          <p>
            Anyone who has the link can set the password of {renderName(person.email)}, once. Send
            it only to this person.
          </p>
          <p class="quiet">
            {person.linkEndsAt !== null && "The previous link stops working. "}Sessions end when the
            new password is set.
          </p>
          {person.disabledAt !== null && (
            <p>The account is disabled: the link works once you enable it.</p>
          )}
        </>
      ),
      button: "Create link",
    }),
    run: async (visit, page) =>
      respondWithLink(visit, page, await makePasswordLink(visit.deps, page.person)),
  }),
  "resend-invitation": makePersonAction({
    action: "resend_invitation",
    title: () => "Resend the invitation",
    blocker: (page) => findAccepted(page) ?? findDisabled(page) ?? findBlocker(page),
    form: ({ person }, { deps }) => ({
      intro: (
        <p>
          {deps.hasMail && person.isConfirmed
            ? "This emails a new link to"
            : "This creates a new link for"}{" "}
          {renderName(person.email)}. It works for {toDurationText(LINK_LIFE_S)}. The previous link
          stops working. Roles do not change.
        </p>
      ),
      button: deps.hasMail && person.isConfirmed ? "Resend" : "Create link",
    }),
    run: async (visit, page) =>
      respondWithLink(
        visit,
        page,
        await resendInvitation(visit.deps, page.person),
        "Invitation resent",
      ),
    origin: toOrigin,
  }),
  "withdraw-invitation": makePersonAction({
    action: "withdraw_invitation",
    title: () => "Withdraw the invitation",
    blocker: (page) => findAccepted(page) ?? findLastBlocker(page),
    form: ({ person }) => ({
      intro: (
        <p>
          The invitation link of {renderName(person.email)} stops working immediately. The account,
          which was never used, is deleted with its roles. You can invite the address again.
        </p>
      ),
      button: "Withdraw the invitation",
      tone: "danger",
    }),
    run: async ({ deps }, { person }) => {
      await withdrawInvitation(deps, person);
      return redirectWithNotice(INVITATIONS, "withdrawn");
    },
    done: { withdrawn: "Invitation withdrawn. The link no longer works." },
    origin: toOrigin,
  }),
  address: makePersonAction({
    action: "change_email",
    title: () => "Change the address",
    blocker: findBlocker,
    fields: () => ({ new_email: NEW_EMAIL }),
    form: ({ person }, { deps }) => ({
      intro: (
        <p>
          {renderName(person.email)} signs in with the new address from now on. Password, roles and
          sessions do not change.{" "}
          {person.invitation === null
            ? "An unused password link stops working."
            : "You need to resend the invitation."}
          {person.invitation === null && deps.hasMail && " Both addresses are notified by email."}
        </p>
      ),
      button: "Change the address",
      isFocused: true,
    }),
    run: ({ deps }, { person: { id, email } }, { new_email: newEmail }) =>
      changeEmail(deps, { id, email, newEmail }),
    done: { address: "Address changed. The person signs in with the new address." },
  }),
  "console-role": makePersonAction({
    action: "set_console_role",
    title: () => "Console role",
    blocker: (page) =>
      page.me.role === "super_admin"
        ? findLastBlocker(page)
        : "Only a super_admin can change a Console role.",
    fields: ({ person: { consoleRole } }) => ({
      console_role: { ...CONSOLE_ROLE, hint: undefined, value: consoleRole ?? "none" },
    }),
    form: ({ person }) => ({
      intro: [
        <p>
          With a Console role, {renderName(person.email)} can use this Console and is{" "}
          <code>admin</code> on every app. Only a super admin can change the role.
        </p>,
        person.consoleRole === null && (
          <p class="quiet">
            Anyone who knows the password gets the role too. Check who created{" "}
            <a href={toActionsPath(person.id, "make_password_link")}>password links</a> and{" "}
            <a href={toActionsPath(person.id, "resend_invitation")}>resent invitations</a>.
          </p>
        ),
        person.consoleRole === null && person.hasProvider && (
          <p class="quiet">
            Anyone who can sign in with the linked provider account gets it too. Check{" "}
            <a href={toActionsPath(person.id, "link_provider")}>
              when and from where it was linked
            </a>
            .
          </p>
        ),
        person.consoleRole === null && person.passkeys > 0 && (
          <p class="quiet">
            Anyone who has a passkey of this account gets it too. Check{" "}
            <a href={toActionsPath(person.id, "add_passkey")}>when and from where it was added</a>.
          </p>
        ),
        person.linkEndsAt !== null && (
          <p class="quiet">The unused password link stops working. Create a new link afterwards.</p>
        ),
      ],
      button: "Save",
    }),
    run: ({ deps }, { person }, { console_role: role }) =>
      role === "none" ? removeConsoleRole(deps, person) : giveConsoleRole(deps, person, role),
    done: { console: "Console role saved. Takes effect on the next request." },
  }),
  "second-factor": makePersonAction({
    action: "reset_second_factor",
    title: () => "Reset the second factor",
    blocker: (page) =>
      hasFactor(page.person) ? findBlocker(page) : "There is no second factor to reset.",
    form: ({ me, person }) => ({
      intro: (
        <>
          <p>
            Use this if {renderName(person.email)} has lost the phone and the recovery codes. First
            verify that the request comes from this person. Anyone who knows the password can then
            sign in without a second factor.
          </p>
          <p>
            The authenticator app, recovery codes and passkeys stop working, and all sessions end
            immediately. The person is notified if email is configured.
          </p>
          {me.id === person.id && <p>This is your account: you are signed out too.</p>}
        </>
      ),
      button: "Reset the second factor",
      tone: "danger",
    }),
    run: ({ deps }, { person }) => runOnPerson(deps, "reset_second_factor", person),
    done: { reset: "Second factor reset. All sessions have ended." },
  }),
  "new-role": newRoleAction,
  ...PERSON_ENDINGS,
};

/** The page with a new link; `mailed` is its title if the link is emailed. */
function respondWithLink(visit: Visit, page: PersonView, link: CreatedLink, mailed?: string) {
  const { me, person } = page;
  const title = mailed !== undefined && isLinkMailed({ link, person }) ? mailed : COPY_LINK;
  const body = renderPasswordLink(visit, { link, person });
  return respondWithConsolePage({ me, crumbs: toPersonCrumbs(page), title, body });
}

/** The audit log filtered by action and person. */
function toActionsPath(person: string, action: string): string {
  return `${ACTIVITY}?${new URLSearchParams({ action, person })}`;
}

/** An invitation that was accepted cannot change: the person can sign in. */
function findAccepted({ person }: PersonView): Html | undefined {
  if (person.invitation !== null) return undefined;
  return <>{renderText(person.email)} has no pending invitation: it was accepted.</>;
}

function findDisabled({ person }: PersonView): Html | undefined {
  if (person.disabledAt === null) return undefined;
  return <>The account of {renderText(person.email)} is disabled: enable it first.</>;
}

/** The list of invitations, or the person's page. */
function toOrigin({ context }: Visit): string {
  const from = new Map(readParameters(context.query)).get("from");
  return from === "list" ? INVITATIONS : toPersonPath(context.params["person"] ?? "");
}
