/** The page that asks before a second factor is removed. The form that it shows is that of the page where the factor stands. @module */
import { type OwnSecondFactor, SignInTooOld } from "../accounts/mod.ts";
import { html, type Part, renderForm } from "../pages/mod.ts";
import { answerAccountPage, type OwnVisit } from "./account_page.ts";
import { TOKEN_FIELD } from "./form_token.ts";

export type Removal = {
  /** The page that takes the form, and that shows the factor. */
  action: string;
  title: string;
  /** What removing it means. */
  text: Part;
  fields?: Part;
};

/** What a page's query asks to remove. */
export function readRemoved(query: string): string | undefined {
  return new URLSearchParams(query).get("remove") ?? undefined;
}

/** @throws {SignInTooOld} */
export function answerRemoval(
  { deps, token }: OwnVisit,
  { isFresh, totpSince, passkeys }: OwnSecondFactor,
  { action, title, text, fields }: Removal,
): Response {
  if (!isFresh) throw new SignInTooOld();
  const isLast = passkeys + (totpSince === null ? 0 : 1) === 1;
  const body = html`<p>${text}</p>
${isLast && html`<p class="notice notice-warn">It is your only second factor. Without it the password, or your provider, signs you in alone, and your recovery codes no longer work.</p>`}
${renderForm({
  action,
  token: { name: TOKEN_FIELD, value: token },
  fields: html`<input type="hidden" name="act" value="remove">${fields}`,
  button: title,
})}
<p class="more"><a href="${action}">Cancel</a></p>`;
  return answerAccountPage(deps, { tab: "Security", title, body });
}
