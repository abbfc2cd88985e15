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
import { splitTarget, toTarget } from "../http/mod.ts";
import { type Html, html, redirect, renderField, renderForm } from "../pages/mod.ts";
import { type OwnVisit, respondWithAccountPage } from "./account_page.ts";
import { ACCOUNT_SECURITY_PATH } from "./paths.ts";
import { renderQrCode } from "./qr_code.ts";
import {
  REPLACED_FIELD,
  respondWithRecoveryCodes,
  TOTP_REPLAYED_PATH,
} from "./recovery_codes_page.ts";
import { findDestination } from "./return_to.ts";

const SEALED_FIELD = "sealed";
/** Time limit for adding the secret to an app: about as long as a sign-in counts as recent. */
const LIFE_MS = 600_000;
const CODE_CHARS = 40;

/** @throws {SignInTooOld} */
export async function handleTotp(visit: OwnVisit): Promise<Response> {
  const { isFresh, totpVersion } = await readOwnSecondFactor(visit.deps);
  if (!isFresh) throw new SignInTooOld();
  return respondWithForm(visit, { totp: makeNew(visit), replaced: totpVersion });
}

/** @throws {NotSignedIn} @throws {SignInTooOld} */
export async function handleTotpForm(visit: OwnVisit): Promise<Response> {
  const { deps, account, fields } = visit;
  const replaced = fields.get(REPLACED_FIELD) ?? "";
  const totp = openNewTotp(deps, account.id, fields.get(SEALED_FIELD) ?? "");
  if (totp === undefined)
    return respondWithForm(visit, { totp: makeNew(visit), replaced, notice: EXPIRED });
  const code = readTotpCode(fields.get("code"));
  const step = findStep(totp.key, code, deps.now());
  if (step === undefined) return respondWithForm(visit, { totp, replaced, issue: WRONG });
  const next = (await findDestination(deps, visit.context)) ?? ACCOUNT_SECURITY_PATH;
  const codes = makeRecoveryCodes(deps, account.id);
  const record = makeTotpRecord(deps, account.id, totp.key);
  const options = { userId: account.id, totp: record, step, codes, replaced };
  const outcome = await putOwnTotp(deps, options);
  if (outcome === "other_session") throw new NotSignedIn();
  if (outcome === "repeated") return redirect(TOTP_REPLAYED_PATH);
  return respondWithRecoveryCodes(visit, { codes: codes.texts, next, added: outcome });
}

const EXPIRED =
  "The page expired. Remove the entry that you added to the app, then scan the new code below.";
const WRONG = "The code is not correct. Check that your phone's clock is correct, then try again.";

function makeNew({ deps }: OwnVisit): NewTotp {
  return { key: makeTotpKey(deps), endsAtMs: deps.now() + LIFE_MS };
}

type State = { totp: NewTotp; replaced: string; notice?: string; issue?: string };

function respondWithForm(visit: OwnVisit, { totp, replaced, notice, issue }: State): Response {
  const { deps, context, account, token } = visit;
  const sealed = sealNewTotp(deps, account.id, totp);
  const code = renderField({
    name: "code",
    label: "Code",
    hint: "The 6 digits that the app shows for this account.",
    type: "text",
    inputMode: "numeric",
    autocomplete: "one-time-code",
    maxLength: CODE_CHARS,
    issues: issue === undefined ? [] : [issue],
    isFirst: issue !== undefined,
  });
  const body = html`${renderKey(totp.key, toUri(visit, totp.key))}
${renderForm({
  action: toTarget(splitTarget(context.request.url)),
  token,
  fields: html`<input type="hidden" name="${SEALED_FIELD}" value="${sealed}"><input type="hidden" name="${REPLACED_FIELD}" value="${replaced}">${code}`,
  button: "Turn on",
})}
<p class="more"><a href="${ACCOUNT_SECURITY_PATH}">Cancel</a></p>`;
  const status = notice === undefined && issue === undefined ? 200 : 422;
  return respondWithAccountPage(deps, {
    tab: "Security",
    title: "Authenticator app",
    notice,
    body,
    status,
  });
}

function renderKey(key: string, uri: string): Html {
  return html`<p class="lead">Scan this QR code with your app, then enter the code from the app</p>
<div class="qr">${renderQrCode(uri, "QR code for your authenticator app")}
<div class="qr-text"><p>Cannot scan it? <a href="${uri}">Open it in an app on this device</a>, or enter this key manually:</p>
<p><code class="key">${key.match(/.{1,4}/g)?.join(" ") ?? key}</code></p>
<p class="quiet">Keep it secret: anyone who has it can generate your codes.</p></div></div>`;
}

function toUri({ deps: { identity }, account }: OwnVisit, key: string): string {
  const origin = identity.identityUrl ?? identity.publicUrl;
  const issuer = origin === undefined ? "Rowhouse" : new URL(origin).hostname;
  return toTotpUri(key, { issuer, label: account.email });
}
