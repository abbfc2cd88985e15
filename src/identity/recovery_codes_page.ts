/** Recovery codes, the only time that they are shown. @module */
import { html, renderCopyButton, renderNotice } from "../pages/mod.ts";
import { answerAccountPage, type OwnVisit } from "./account_page.ts";
import { markFactorDevice } from "./cookies.ts";
import { ACCOUNT_SECURITY_PATH } from "./paths.ts";

/** Which app or codes a form replaces: the page that they led to may be loaded again, and would send the form once more. */
export const REPLACED_FIELD = "replaced";
/** Where that leads. */
export const CODES_SHOWN = `${ACCOUNT_SECURITY_PATH}?done=shown`;

export type NewCodes = {
  codes: readonly string[];
  next: string;
  /** What was added with them: the `first` factor, or a further one; nothing, if they are new ones in place of others. */
  added?: "first" | "done";
  cookies?: readonly string[];
};

export function answerRecoveryCodes(
  { deps, context, account }: OwnVisit,
  { codes, next, added, cookies = [] }: NewCodes,
): Response {
  const body = html`${added !== undefined && renderNotice("remark", ADDED[added])}
<p class="lead">Keep these recovery codes where you find them without your phone</p>
<p>Each lets you sign in as <strong>${account.email}</strong> once when your second factor is not at hand. They are shown now and never again${added !== "first" && "; the ones before no longer work"}.</p>
<div class="copyable"><pre class="snippet codes" tabindex="0" aria-label="Your recovery codes"><code id="codes">${codes.join("\n")}</code></pre>${renderCopyButton("codes", "the recovery codes")}</div>
<div class="actions"><button class="button button-quiet" type="button" data-download="codes" data-file="recovery-codes.txt" hidden>Download</button>
<a class="button button-primary" href="${next}">I have kept them</a></div>`;
  const marks = added === undefined ? [] : [markFactorDevice(deps, context.request, account.id)];
  return answerAccountPage(deps, {
    tab: "Security",
    title: "Recovery codes",
    body,
    cookies: [...cookies, ...marks],
  });
}

const ON = "Your second factor is on: from now on signing in asks for it.";
const ADDED = {
  first: `${ON} Wherever else you were signed in, you no longer are.`,
  done: ON,
} as const;
