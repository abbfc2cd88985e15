/** A new link that sets a password, shown this once. @module */
import { LINK_LIFE_S, type PersonRef } from "../accounts/mod.ts";
import { type Html, html, renderCopyButton } from "../pages/mod.ts";
import { DAY_S } from "../std/duration.ts";
import type { Visit } from "./enter.ts";
import { renderLink, renderText } from "./parts.ts";
import { toPersonPath } from "./paths.ts";

export function renderPasswordLink(
  visit: Visit,
  { text, person }: { text: string; person: PersonRef },
): Html {
  return html`<section class="sheet" aria-label="The new link">
<p>${visit.deps.hasMail ? html`It is on its way by mail to <b>${renderText(person.email)}</b>; you may send it yourself, too. It` : html`Send it to <b>${renderText(person.email)}</b>: it`} sets the password once, within ${LINK_LIFE_S / DAY_S} days. It is shown this once and stored nowhere. A click selects all of it.</p>
<p class="secret"><code id="link">${toPagesUrl(visit)}/set-password?token=${text}</code>${renderCopyButton("link", "the link")}</p>
<div class="act-buttons">${renderLink("I have sent it", toPersonPath(person.id), "primary")}</div>
</section>`;
}

/** Where people find the identity pages, of which the Console is one. */
function toPagesUrl({ deps, context }: Visit): string {
  const { identityUrl, publicUrl } = deps.identity;
  return identityUrl ?? publicUrl ?? new URL(context.request.url).origin;
}
