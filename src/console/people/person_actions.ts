/** The pages of the actions on an account, by the last part of their path. @module */

import type { PersonView } from "../../records/console/mod.ts";
import { type CreatedLink, PERSON_ACTIONS } from "../../records/people/mod.ts";
import { makeActionPages } from "../action_page.tsx";
import type { Visit } from "../enter.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import { readKeyChoices, renderKeyChoices } from "./person_endings.tsx";
import {
  COPY_LINK,
  isLinkMailed,
  PERSON,
  renderPasswordLink,
  toPersonCrumbs,
} from "./person_parts.tsx";
import { readGrants, renderGrantFields } from "./person_roles.tsx";

export const PERSON_PAGES = makeActionPages(PERSON, PERSON_ACTIONS, {
  passwordLink: { show: respondWithLink },
  resendInvitation: {
    show: (visit, page, link) => respondWithLink(visit, page, link, "Invitation resent"),
  },
  endAccess: { fields: renderKeyChoices, read: readKeyChoices },
  grantRoles: { fields: renderGrantFields, read: readGrants },
});

/** The page with a new link; `mailed` is its title if the link is emailed. */
function respondWithLink(visit: Visit, page: PersonView, link: CreatedLink, mailed?: string) {
  const { me, person } = page;
  const title = mailed !== undefined && isLinkMailed({ link, person }) ? mailed : COPY_LINK;
  const body = renderPasswordLink(visit, { link, person });
  return respondWithConsolePage({ me, crumbs: toPersonCrumbs(page), title, body });
}
