/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * Common parts of the pages below a person's page. Each action is a page with one form. A message replaces the form if the action
 * is not possible.
 *
 * @module
 */

import { PATHS } from "../../identity/mod.ts";
import {
  type FormFields,
  type Html,
  type NoFields,
  type Part,
  renderCopyButton,
} from "../../pages/mod.ts";
import { type PersonView, showConsolePerson } from "../../records/console/mod.ts";
import type { CreatedLink, ListedUser } from "../../records/people/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { LINK_LIFE_S } from "../../std/limits.ts";
import type { Visit } from "../enter.tsx";
import { type FormPage, makeFormPage } from "../form_page.tsx";
import type { Crumbs } from "../frame.tsx";
import { renderLink, renderText } from "../parts.tsx";
import { PEOPLE, toPersonPath } from "../paths.ts";

export function renderName(email: string): Html {
  return <b>{renderText(email)}</b>;
}

export function toPersonName({
  displayName,
  email,
}: Pick<ListedUser, "displayName" | "email">): string {
  const name = displayName ?? email;
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}

/** The person in the address, with the role on the app in the address. @throws {Problem} not_found */
async function readPerson({ deps, context }: Visit): Promise<PersonView> {
  const { person: id = "", app } = context.params;
  return await showConsolePerson(deps, {
    id,
    ...(app === undefined ? {} : { app }),
    maxRows: 1,
  });
}

/** Whether there is a second factor that can be reset. */
export function hasFactor({ hasTotp, passkeys }: PersonView["person"]): boolean {
  return hasTotp || passkeys > 0;
}

/** The reason why an administrator cannot change an account, if any. */
export function findBlocker({ me, person }: PersonView): Html | undefined {
  if (person.consoleRole === null || me.role === "super_admin") return undefined;
  return person.id === me.id ? (
    <>
      This is your account. Change profile, password and sessions on{" "}
      <a href={PATHS.account}>your account page</a>.
    </>
  ) : (
    <>{renderText(person.email)} has a Console role: only a super_admin can change the account.</>
  );
}

/** The reason why an account cannot lose its Console role, if any. */
export function findLastBlocker(page: PersonView): Html | undefined {
  if (!page.person.isLast) return findBlocker(page);
  return (
    <>
      {renderText(page.person.email)} is the last super_admin. Make another person a super_admin
      first.
    </>
  );
}

type PersonAction<Fields extends FormFields> = Pick<
  FormPage<PersonView, Fields>,
  "action" | "fields" | "form" | "run" | "done" | "title"
> & {
  /** The reason why the action is not possible, if any. */
  blocker: (page: PersonView) => Part;
  /** The page to return to; defaults to the person's page. */
  origin?: (visit: Visit) => string;
};

export function makePersonAction<Fields extends FormFields = NoFields>({
  blocker,
  form,
  origin,
  ...action
}: PersonAction<Fields>) {
  const back = ({ person }: PersonView, visit: Visit) => origin?.(visit) ?? toPersonPath(person.id);
  return makeFormPage<PersonView, Fields>({
    ...action,
    read: readPerson,
    form: (page, visit) => {
      // A rejected form says why above the sent values, which the reason must not replace.
      const reason = visit.deps.isForm ? undefined : blocker(page);
      if (reason === undefined) return form(page, visit);
      return {
        instead: (
          <>
            <p>{reason}</p>
            <p>{renderLink("Back", back(page, visit))}</p>
          </>
        ),
      };
    },
    back,
    crumbs: toPersonCrumbs,
  });
}

/** The parent pages of a page about a person. */
export function toPersonCrumbs({ person }: { person: ListedUser }): Crumbs {
  return [
    { name: "People", path: PEOPLE },
    { name: toPersonName(person), path: toPersonPath(person.id) },
  ];
}

// A new link that sets a password, which is shown only once.

/** A new person's address is confirmed: it was just set. */
type LinkView = {
  link: Pick<CreatedLink, "linkText" | "isMailed">;
  person: { id: string; email: string; isConfirmed?: boolean };
};

export const COPY_LINK = "Copy this link now";

/** A waiting email is not sent if the service did not set the address. */
export function isLinkMailed({ link, person: { isConfirmed = true } }: LinkView): boolean {
  return link.isMailed && isConfirmed;
}

export function renderPasswordLink(visit: Visit, { link, person }: LinkView): Html {
  return (
    <section class="sheet" aria-label="The new link">
      <p>
        {renderWay(visit, { link, person })} It sets the password once, within{" "}
        {toDurationText(LINK_LIFE_S)}. It is shown only once and is not stored. Click it to select
        all of it.
      </p>
      <p class="secret">
        <code id="link">{toPasswordLink(visit, link.linkText)}</code>
        {renderCopyButton("link", "the link")}
      </p>
      <div class="action-buttons">
        {renderLink(
          isLinkMailed({ link, person }) ? "Done" : "I have sent it",
          toPersonPath(person.id),
          "primary",
        )}
      </div>
    </section>
  );
}

function renderWay({ deps }: Visit, { link, person }: LinkView): Html {
  const to = <b>{renderText(person.email)}</b>;
  if (isLinkMailed({ link, person }))
    return <>This link is being emailed to {to}. You can also send the link yourself.</>;
  const why = link.isMailed
    ? UNCONFIRMED
    : "No email is sent: the limit is five emails per person and hour. ";
  return (
    <>
      {deps.hasMail && why}Send the link to {to}.
    </>
  );
}

const UNCONFIRMED = (
  <>
    No email is sent: the address is not confirmed by <code>IDENTITY_SECRET</code>, see{" "}
    <code>rowhouse admin confirm-addresses</code>.{" "}
  </>
);

export function toPasswordLink(visit: Visit, linkText: string): string {
  return `${toPagesUrl(visit)}/set-password?token=${linkText}`;
}

/** The origin of the identity pages, which include the Console. */
function toPagesUrl({ deps, context }: Visit): string {
  const { identityUrl, publicUrl } = deps.identity;
  return identityUrl ?? publicUrl ?? new URL(context.request.url).origin;
}
