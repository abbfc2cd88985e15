/** @jsxImportSource #html @jsxRuntime automatic */
/** Common parts of the pages about a person. @module */

import { readParameters } from "../../http/mod.ts";
import { type Html, renderCopyButton } from "../../pages/mod.ts";
import { type PersonView, showConsolePerson } from "../../records/console/mod.ts";
import {
  type CreatedLink,
  type ListedUser,
  type PersonSubject,
  toPersonName,
} from "../../records/people/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { LINK_LIFE_S } from "../../std/limits.ts";
import type { SubjectPage } from "../action_page.tsx";
import type { Visit } from "../enter.tsx";
import type { Crumbs } from "../frame.tsx";
import { renderLink, renderText } from "../parts.tsx";
import { INVITATIONS, PEOPLE, toPersonPath } from "../paths.ts";

/** The person in the address, with the role on the app in the address. @throws {Problem} not_found */
async function readPerson({ deps, context }: Visit): Promise<PersonView> {
  const { person: id = "", app } = context.params;
  return await showConsolePerson(deps, {
    id,
    ...(app === undefined ? {} : { app }),
    maxRows: 1,
  });
}

/** How the pages of actions name a person. */
export const PERSON: SubjectPage<PersonSubject> = {
  read: readPerson,
  toRef: ({ person: { id, email } }) => ({ id, email }),
  toPath: ({ person }) => toPersonPath(person.id),
  toBack: ({ person }, { context }) =>
    readFrom(context.query) === "list" ? INVITATIONS : toPersonPath(person.id),
  crumbs: toPersonCrumbs,
};

/** Whence an administrator came to a page. */
export function readFrom(query: string): string | undefined {
  return new Map(readParameters(query)).get("from");
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
