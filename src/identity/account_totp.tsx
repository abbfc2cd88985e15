/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * `/account/security/app`: shows the secret for an authenticator app as a QR code, and stores it after a code from the app
 * confirms it. Until then only the page holds the secret, sealed for this person.
 *
 * @module
 */
import { putOwnTotp, readOwnSecondFactor } from "../accounts/account_settings/mod.ts";
import { NotSignedIn, SignInTooOld } from "../accounts/actions/mod.ts";
import {
  findStep,
  makeRecoveryCodes,
  makeTotpKey,
  makeTotpRecord,
  type NewTotp,
  openNewTotp,
  readTotpCode,
  sealNewTotp,
  toTotpUri,
} from "../accounts/sessions/mod.ts";
import { type Html, redirect } from "../pages/mod.ts";
import { RECENT_SIGN_IN_S } from "../std/limits.ts";
import { CODE } from "./account_fields.ts";
import { makeAccountForm, type OwnVisit } from "./account_page.tsx";
import type { PageDeps } from "./page_deps.ts";
import { ACCOUNT_SECURITY_PATH } from "./paths.ts";
import { renderQrCode } from "./qr_code.tsx";
import {
  REPLACED_FIELD,
  respondWithRecoveryCodes,
  TOTP_REPLAYED_PATH,
} from "./recovery_codes_page.tsx";
import { findDestination } from "./return_to.ts";

const SEALED_FIELD = "sealed";
/** Time limit for adding the secret to an app: about as long as a sign-in counts as recent. */
const LIFE_MS = RECENT_SIGN_IN_S * 1000;

export const totpPage = makeAccountForm({
  tab: "Security",
  title: "Authenticator app",
  read: readTotp,
  fields: () => ({
    code: { ...CODE, hint: "The 6 digits that the app shows for this account." },
  }),
  form: ({ totp, replaced }, visit) => ({
    above: renderKey(totp.key, toUri(visit, totp.key)),
    hidden: {
      [SEALED_FIELD]: sealNewTotp(visit.deps, visit.account.id, totp),
      [REPLACED_FIELD]: replaced,
    },
    button: "Turn on",
    below: (
      <p class="more">
        <a href={ACCOUNT_SECURITY_PATH}>Cancel</a>
      </p>
    ),
  }),
  run: async (visit, { totp, replaced, isExpired }, { code }) => {
    if (isExpired) return { status: 422, notice: EXPIRED };
    const { deps, account } = visit;
    const step = findStep(totp.key, readTotpCode(code), deps.now());
    if (step === undefined) return { status: 422, issues: { code: [WRONG] } };
    const next = (await findDestination(deps, visit.context)) ?? ACCOUNT_SECURITY_PATH;
    const codes = makeRecoveryCodes(deps, account.id);
    const record = makeTotpRecord(deps, account.id, totp.key);
    const options = { userId: account.id, totp: record, step, codes, replaced };
    const outcome = await putOwnTotp(deps, options);
    if (outcome === "other_session") throw new NotSignedIn();
    if (outcome === "repeated") return redirect(TOTP_REPLAYED_PATH);
    return respondWithRecoveryCodes(visit, { codes: codes.texts, next, added: outcome });
  },
});

/** The new or the sent secret. @throws {SignInTooOld} */
async function readTotp({ deps, context, account, fields }: OwnVisit) {
  if (context.request.method === "POST") {
    const sent = openNewTotp(deps, account.id, fields.get(SEALED_FIELD) ?? "");
    const replaced = fields.get(REPLACED_FIELD) ?? "";
    return { totp: sent ?? makeNew(deps), replaced, isExpired: sent === undefined };
  }
  const { isFresh, totpVersion } = await readOwnSecondFactor(deps);
  if (!isFresh) throw new SignInTooOld();
  return { totp: makeNew(deps), replaced: totpVersion, isExpired: false };
}

const EXPIRED =
  "The page expired. Remove the entry that you added to the app, then scan the new code below.";
const WRONG = "The code is not correct. Check that your phone's clock is correct, then try again.";

function makeNew(deps: PageDeps): NewTotp {
  return { key: makeTotpKey(deps), endsAtMs: deps.now() + LIFE_MS };
}

function renderKey(key: string, uri: string): Html {
  return (
    <>
      <p class="lead">Scan this QR code with your app, then enter the code from the app</p>
      <div class="qr">
        {renderQrCode(uri, "QR code for your authenticator app")}
        <div class="qr-text">
          <p>
            Cannot scan it? <a href={uri}>Open it in an app on this device</a>, or enter this key
            manually:
          </p>
          <p>
            <code class="key">{key.match(/.{1,4}/g)?.join(" ") ?? key}</code>
          </p>
          <p class="quiet">Keep it secret: anyone who has it can generate your codes.</p>
        </div>
      </div>
    </>
  );
}

function toUri({ deps: { identity }, account }: OwnVisit, key: string): string {
  const origin = identity.identityUrl ?? identity.publicUrl;
  const issuer = origin === undefined ? "Rowhouse" : new URL(origin).hostname;
  return toTotpUri(key, { issuer, label: account.email });
}
