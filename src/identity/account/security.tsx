/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * `/account/security`: a person's second factor and recovery codes. Every change requires a sign-in within the last 10
 * minutes.
 *
 * @module
 */

import {
  type FormView,
  type Html,
  redirect,
  renderForm,
  renderLink,
  renderPill,
  renderTime,
} from "../../pages/mod.ts";
import {
  type OwnSecondFactor,
  putOwnRecoveryCodes,
  readOwnSecondFactor,
  removeOwnTotp,
} from "../../records/account_settings/mod.ts";
import { makeRecoveryCodes } from "../../records/sessions/mod.ts";
import { PATHS } from "../paths.ts";
import { readReturnTo, toReturnQuery } from "../return_to.ts";
import { findRelyingParty } from "../settings.ts";
import { makeAccountForm, type OwnVisit, renderEntry } from "./page.tsx";
import { ACTION_FIELD, readRemoved, renderStale, respondWithRemoval } from "./removal.tsx";
import { CODES_REPLAYED_PATH, REPLACED_FIELD, respondWithRecoveryCodes } from "./totp.tsx";

const REMOVE = "remove";
const REMOVED = `${PATHS.security}?done=removed`;
/** Result of the previous form, keyed by the page's query. */
const NOTICES: ReadonlyMap<string, string> = new Map([
  ["done=removed", "Authenticator app removed. You no longer need its codes to sign in."],
  [
    "done=app-changed",
    "The authenticator app was already set up, by the same form or in another tab, and the recovery codes were shown then. If codes from your app are not accepted, remove its entry and set up the app again.",
  ],
  [
    "done=shown",
    "Your recovery codes were already shown and cannot be shown again. If you did not save them, create new codes.",
  ],
]);

export const securityPage = makeAccountForm({
  tab: "Security",
  title: "Security",
  lead: "Second factors for your sign-in",
  notices: NOTICES,
  read: ({ account }) => account,
  form: (_account, visit) => readSecurity(visit),
  run: change,
});

/** The second factors, or the confirmation page of a removal. @throws {SignInTooOld} */
async function readSecurity(visit: OwnVisit): Promise<FormView | Response> {
  const { deps, context, token } = visit;
  const own = await readOwnSecondFactor(deps);
  if (readRemoved(context.query) === "app" && own.totpSince !== null)
    return respondWithRemoval(visit, own, {
      action: PATHS.security,
      title: "Remove the authenticator app",
      text: "You will no longer need its codes to sign in.",
    });
  const query = toReturnQuery(readReturnTo(context.query));
  const next = `${PATHS.totp}${query}`;
  return {
    instead: (
      <>
        {!own.isFresh && renderStale("Changes require", PATHS.security)}
        <ul class="sessions">
          {renderApp(own, { next, now: deps.now() })}
          {findRelyingParty(deps.identity) !== undefined && renderPasskeys(own, query)}
          {renderCodes(own, token)}
        </ul>
        {own.totpSince === null && (
          <p class="more">
            An app such as Google Authenticator, Microsoft Authenticator, Aegis or 1Password shows a
            new code every 30 seconds. Someone who learns your password cannot sign in without the
            code.
          </p>
        )}
        {own.totpSince === null && own.passkeys === 0 && (
          <p class="more">
            Your first second factor, an app or a passkey, comes with recovery codes and ends all
            your other sessions.
          </p>
        )}
      </>
    ),
  };
}

/** Creates new recovery codes, or removes the authenticator app. @throws {SignInTooOld} */
async function change(visit: OwnVisit): Promise<Response> {
  const { deps, fields, account } = visit;
  if (fields.get(ACTION_FIELD) === REMOVE) {
    await removeOwnTotp(deps);
    return redirect(REMOVED);
  }
  const codes = makeRecoveryCodes(deps, account.id);
  const replaced = fields.get(REPLACED_FIELD) ?? "";
  const outcome = await putOwnRecoveryCodes(deps, {
    userId: account.id,
    codes,
    replaced,
  });
  if (outcome === "repeated") return redirect(CODES_REPLAYED_PATH);
  if (outcome === "other_session") return redirect(PATHS.security);
  return respondWithRecoveryCodes(visit, { codes: codes.texts, next: PATHS.security });
}

const APP = <span class="visually-hidden"> the authenticator app</span>;
const ON = renderPill("on", "good");

function renderApp(
  { totpSince, isFresh }: OwnSecondFactor,
  { next, now }: { next: string; now: number },
): Html {
  const isOn = totpSince !== null;
  const actions = (
    <div class="session-actions">
      {renderLink([isOn ? "Replace" : "Set up", APP], next, isOn ? "quiet" : "primary")}
      {isOn && renderLink(["Remove", APP], `${PATHS.security}?remove=app`)}
    </div>
  );
  return renderEntry({
    name: "Authenticator app",
    pill: isOn && ON,
    about: isOn ? ["added ", renderTime(totpSince, now)] : "not set up",
    actions: isFresh && actions,
  });
}

function renderPasskeys({ passkeys }: OwnSecondFactor, query: string): Html {
  const name = [passkeys === 0 ? "Add" : "Manage", <span class="visually-hidden"> passkeys</span>];
  return renderEntry({
    name: "Passkeys",
    pill: passkeys > 0 && ON,
    about:
      passkeys === 0
        ? "none yet: use a fingerprint, face or PIN instead of a code or password"
        : `${passkeys} added`,
    actions: <div class="session-actions">{renderLink(name, `${PATHS.passkeys}${query}`)}</div>,
  });
}

function renderCodes(
  { totpSince, passkeys, recoveryCodes, codesVersion, isFresh }: OwnSecondFactor,
  token: string,
): Html | false {
  if (totpSince === null && passkeys === 0) return false;
  return renderEntry({
    name: "Recovery codes",
    pill: recoveryCodes < 3 && renderPill(recoveryCodes === 0 ? "none" : "few left", "warn"),
    about: [recoveryCodes > 0 && `${recoveryCodes} left, `, "for when you do not have your phone"],
    actions: isFresh && <div class="session-actions">{renderMakeCodes(token, codesVersion)}</div>,
  });
}

function renderMakeCodes(token: string, replaced: string): Html {
  return renderForm({
    action: PATHS.security,
    token,
    hidden: { [ACTION_FIELD]: "codes", [REPLACED_FIELD]: replaced },
    button: (
      <>
        Create new codes<span class="visually-hidden"> that replace your recovery codes</span>
      </>
    ),
    tone: "quiet",
  });
}
