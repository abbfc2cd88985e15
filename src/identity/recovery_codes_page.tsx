/** @jsxImportSource #html @jsxRuntime automatic */
/** The page that shows new recovery codes, once. @module */
import { renderCopyButton, renderNotice } from "../pages/mod.ts";
import { type OwnVisit, respondWithAccountPage } from "./account_page.tsx";
import { markFactorDevice } from "./cookies.ts";
import { ACCOUNT_SECURITY_PATH } from "./paths.ts";

/** The version of the app or codes that a form replaces: reloading the page sends the form again. */
export const REPLACED_FIELD = "replaced";
/** The destinations of a repeated form. */
export const CODES_REPLAYED_PATH = `${ACCOUNT_SECURITY_PATH}?done=shown`;
export const TOTP_REPLAYED_PATH = `${ACCOUNT_SECURITY_PATH}?done=app-changed`;

export type NewCodes = {
  codes: readonly string[];
  next: string;
  /** The factor that was added with the codes: the `first` or another; `undefined` if the codes only replace old ones. */
  added?: "first" | "done";
  cookies?: readonly string[];
};

export function respondWithRecoveryCodes(
  { deps, context, account }: OwnVisit,
  { codes, next, added, cookies = [] }: NewCodes,
): Response {
  const body = (
    <>
      {added !== undefined && renderNotice("info", ADDED[added])}
      <p class="lead">Store these recovery codes where you can find them without your phone</p>
      <p>
        Each code signs you in as <strong>{account.email}</strong> once without your second factor.
        The codes are shown only once.{added !== "first" && " Your old codes no longer work."}
      </p>
      <div class="copyable">
        <pre class="snippet codes" tabindex="0" aria-label="Your recovery codes">
          <code id="codes">{codes.join("\n")}</code>
        </pre>
        {renderCopyButton("codes", "the recovery codes")}
      </div>
      <div class="actions">
        <button
          class="button button-quiet"
          type="button"
          data-download="codes"
          data-file="recovery-codes.txt"
          hidden
        >
          Download
        </button>{" "}
        <a class="button button-primary" href={next}>
          I have saved them
        </a>
      </div>
    </>
  );
  const marks = added === undefined ? [] : [markFactorDevice(deps, context.request, account.id)];
  return respondWithAccountPage(deps, {
    tab: "Security",
    title: "Recovery codes",
    body,
    cookies: [...cookies, ...marks],
  });
}

const ON = "Your second factor is on. You now need it to sign in.";
const ADDED = {
  first: `${ON} All your other sessions have ended.`,
  done: ON,
} as const;
