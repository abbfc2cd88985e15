/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * `/account/security/app`: shows the secret for an authenticator app as a QR code, and stores it after a code from the app
 * confirms it. Until then only the page holds the secret, sealed for this person; the same session shows it again.
 *
 * @module
 */

import { encode } from "uqr";
import { type Html, redirect, renderCopyable, renderLink, renderNotice } from "../../pages/mod.ts";
import { putOwnTotp, readOwnSecondFactor } from "../../records/account_settings/mod.ts";
import { NotSignedIn, SignInTooOld } from "../../records/actions/mod.ts";
import {
  deriveTotpKey,
  findStep,
  makeRecoveryCodes,
  makeTotpKey,
  makeTotpRecord,
  openNewTotp,
  readTotpCode,
  sealNewTotp,
  toTotpUri,
} from "../../records/sessions/mod.ts";
import { RECENT_SIGN_IN_S } from "../../std/limits.ts";
import { markDevice } from "../cookies.ts";
import { CODE } from "../fields.ts";
import { PATHS } from "../paths.ts";
import { findDestination } from "../return_to.ts";
import { makeAccountForm, type OwnVisit, respondWithAccountPage } from "./page.tsx";

// A QR code as inline SVG, dark on light in every theme, because cameras require it.

/** Width of the empty border that cameras require. */
const BORDER = 4;

/** `label` is the text alternative. */
function renderQrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: "M", border: BORDER });
  const path = data.map(toRuns).join("");
  return (
    <svg
      class="qr-code"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

/** A stroke for each run of dark modules. */
function toRuns(row: readonly boolean[], y: number): string {
  const bits = row.map((isDark) => (isDark ? "1" : "0")).join("");
  return [...bits.matchAll(/1+/g)]
    .map(({ index, 0: run }) => `M${index} ${y}h${run.length}v1h-${run.length}z`)
    .join("");
}

// The page that shows new recovery codes, once.

/** The version of the app or codes that a form replaces: reloading the page sends the form again. */
export const REPLACED_FIELD = "replaced";
/** The destinations of a repeated form. */
export const CODES_REPLAYED_PATH = `${PATHS.security}?done=shown`;
const TOTP_REPLAYED_PATH = `${PATHS.security}?done=app-changed`;

type NewCodes = {
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
      {renderCopyable("codes", codes.join("\n"), {
        ...{ kind: "snippet codes", label: "Your recovery codes", what: "the recovery codes" },
      })}
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
        {renderLink("I have saved them", next, "primary")}
      </div>
    </>
  );
  const marks =
    added === undefined
      ? []
      : [markDevice(deps, context.request, { userId: account.id, hasFactor: true })];
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
        <a href={PATHS.security}>Cancel</a>
      </p>
    ),
  }),
  run: async (visit, { totp, replaced, isExpired }, { code }) => {
    if (isExpired) return { status: 422, notice: EXPIRED };
    const { deps, account } = visit;
    const step = findStep(totp.key, readTotpCode(code), deps.now());
    if (step === undefined) return { status: 422, issues: { code: [WRONG] } };
    const next = (await findDestination(deps, visit.context)) ?? PATHS.security;
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
    const totp = sent ?? { key: makeTotpKey(deps), endsAtMs: deps.now() + LIFE_MS };
    return { totp, replaced, isExpired: sent === undefined };
  }
  const { isFresh, totpVersion } = await readOwnSecondFactor(deps);
  if (!isFresh) throw new SignInTooOld();
  const of = { session: deps.cookies.session, version: totpVersion };
  const totp = { key: deriveTotpKey(deps, account.id, of), endsAtMs: deps.now() + LIFE_MS };
  return { totp, replaced: totpVersion, isExpired: false };
}

const EXPIRED =
  "The page expired. Remove the entry that you added to the app, then scan the new code below.";
const WRONG = "The code is not correct. Check that your phone's clock is correct, then try again.";

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
