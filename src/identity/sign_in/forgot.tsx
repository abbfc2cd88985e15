/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * `/forgot`: emails a link that sets a new password and continues to the app that the person was signing in to. Response and
 * timing do not depend on whether the address has an account.
 *
 * @module
 */

import { redirect, respondWithMessage } from "../../pages/mod.ts";
import { askForPassword } from "../../records/mails/mod.ts";
import { toCanonicalEmail } from "../../records/people/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { FORGOTTEN_LINK_LIFE_S } from "../../std/limits.ts";
import { isStorableText } from "../../std/text.ts";
import { EMAIL, rejectEmpty } from "../fields.ts";
import { makeOpenForm, type OpenVisit } from "../page_deps.tsx";
import { PATHS } from "../paths.ts";
import { checkReturnTo, readReturnTo, toReturnQuery } from "../return_to.ts";
import { describeThrottle } from "../throttle.tsx";

const TITLE = "Forgot your password?";

export const forgotPage = makeOpenForm({
  title: TITLE,
  read: readForgot,
  fields: () => ({
    email: { ...EMAIL, isRetained: true, check: rejectEmpty("Enter your email address.") },
  }),
  form: ({ back }) => ({
    lead: "We will email you a link to set a new password",
    button: "Send link",
    below: (
      <p class="aside">
        <a href={back}>Back to sign-in</a>
      </p>
    ),
    isFocused: true,
  }),
  sentTo: ({ context }) => `${PATHS.forgot}${toReturnQuery(readReturnTo(context.query))}`,
  run: async ({ deps, context }, { returnTo }, typed) => {
    const canonical = toCanonicalEmail(typed.email);
    // An address that PostgreSQL cannot store has no account, but must use up an attempt like any other.
    const email = isStorableText(canonical) ? canonical : "";
    const waitS = await askForPassword(deps, {
      email,
      address: context.address,
      returnTo: returnTo.kind === "app" ? returnTo : undefined,
    });
    if (waitS > 0) return describeThrottle(deps, waitS);
    const query = new URLSearchParams(toReturnQuery(returnTo));
    return redirect(`${PATHS.forgot}?${new URLSearchParams([["sent", "yes"], ...query])}`);
  },
});

/** @throws {Problem} unknown_app; invalid_request — the return address is invalid */
async function readForgot({ deps, context }: OpenVisit) {
  if (!deps.hasMail) return respondWithoutMail();
  const returnTo = readReturnTo(context.query);
  const { back } = await checkReturnTo(deps, context, returnTo);
  const isSent = new URLSearchParams(context.query).has("sent");
  return isSent && context.request.method === "GET" ? respondWithSent(back) : { returnTo, back };
}

function respondWithSent(back: string): Response {
  const text = (
    <>
      <p>
        If this address has an account with a password, we sent an email with a link. The link works
        once and expires in {toDurationText(FORGOTTEN_LINK_LIFE_S)}.
      </p>
      <p>
        If no email arrives within a few minutes, check your spam folder or contact your
        administrator.
      </p>
    </>
  );
  const next = { name: "Back to sign-in", path: back };
  return respondWithMessage({ title: "Check your email", text, next, hasSignOut: false });
}

function respondWithoutMail(): Response {
  const text = <p>Ask your administrator for a link to set a new password.</p>;
  const next = { name: "Back to sign-in", path: PATHS.login };
  return respondWithMessage({ title: TITLE, text, next, hasSignOut: false });
}
