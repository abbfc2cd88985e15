/** @jsxImportSource #html @jsxRuntime automatic */
/** `/account/security/passkeys`: lists, adds, renames and removes a person's passkeys. @module */

import {
  type FormView,
  type Html,
  type Rejection,
  redirect,
  renderField,
  renderForm,
  renderLink,
  renderTime,
} from "../../pages/mod.ts";
import {
  type AccountSettings,
  type AddOutcome,
  addOwnPasskey,
  type OwnPasskey,
  type OwnPasskeys,
  PASSKEY_LABEL_MAX_CHARS,
  readOwnPasskeys,
  readOwnSecondFactor,
  removeOwnPasskey,
  renameOwnPasskey,
} from "../../records/account_settings/mod.ts";
import {
  beginPasskey,
  makeRecoveryCodes,
  type RecoveryCodes,
  toDeviceName,
} from "../../records/sessions/mod.ts";
import { MAX_PASSKEYS } from "../../std/limits.ts";
import { isStorableText } from "../../std/text.ts";
import { markDevice } from "../cookies.ts";
import { PASSKEY_FIELD, renderPasskeyForm, toCreationOptions } from "../passkeys/form.tsx";
import {
  clearChallenge,
  makeChallenge,
  readAttestation,
  readChallenge,
  verifyAttestation,
} from "../passkeys/response.ts";
import { PATHS } from "../paths.ts";
import { findDestination, readReturnTo, toReturnQuery } from "../return_to.ts";
import { findRelyingParty, type RelyingParty } from "../settings.ts";
import { describeThrottle } from "../throttle.tsx";
import { makeAccountForm, type OwnVisit, renderEntry } from "./page.tsx";
import { ACTION_FIELD, readRemoved, renderStale, respondWithRemoval } from "./removal.tsx";
import { respondWithRecoveryCodes } from "./totp.tsx";

const LABEL = "label";
/** Result of the previous form, keyed by the page's query. */
const NOTICES: ReadonlyMap<string, string> = new Map([
  [
    "done=add",
    "Passkey added. You can now sign in with it. Add a second passkey or keep recovery codes in case you lose it.",
  ],
  ["done=rename", "Passkey renamed."],
  ["done=remove", "Passkey removed. You can also delete it on your device."],
]);

const STALE = "The request expired. Please try again.";
const REPEATED =
  "This passkey was already added. If you did not save the recovery codes, create new ones under Security.";
const ISSUES: Readonly<Record<Exclude<AddOutcome, "first" | "done">, string>> = {
  other_session: STALE,
  replayed: STALE,
  full: `You already have ${MAX_PASSKEYS} passkeys, which is the maximum. Remove a passkey first.`,
  in_use: "This passkey is already in use.",
};
const WRONG = "The passkey could not be verified. Please try again.";
const UNNAMED = `Enter a name of 1 to ${PASSKEY_LABEL_MAX_CHARS} characters.`;

export const passkeysPage = makeAccountForm({
  tab: "Security",
  title: "Passkeys",
  lead: "Sign in with your fingerprint, face, screen lock or security key",
  notices: NOTICES,
  read: ({ account }) => account,
  form: readPasskeys,
  run: (visit) => (CHANGES.get(visit.fields.get(ACTION_FIELD) ?? "") ?? handleAdd)(visit),
});

/** The confirmation page for a removal. @throws {SignInTooOld} */
async function respondWithPasskeyRemoval(visit: OwnVisit, passkey: OwnPasskey): Promise<Response> {
  return respondWithRemoval(visit, await readOwnSecondFactor(visit.deps), {
    action: PATHS.passkeys,
    title: "Remove the passkey",
    text: (
      <>
        <strong>
          <bdi>{passkey.label}</bdi>
        </strong>{" "}
        no longer signs you in.
      </>
    ),
    hidden: { ref: passkey.ref },
  });
}

/** If this is the first second factor, shows recovery codes and then continues to the original destination. */
async function handleAdd(visit: OwnVisit): Promise<Response | Rejection> {
  const { deps, context, account } = visit;
  const home = `${PATHS.passkeys}?done=add`;
  const next = (await findDestination(deps, context)) ?? home;
  const codes = makeRecoveryCodes(deps, account.id);
  const outcome = await add(visit, codes);
  if (typeof outcome === "object") return outcome;
  const cookies = [clearChallenge()];
  if (outcome === "first")
    return respondWithRecoveryCodes(visit, { codes: codes.texts, next, added: outcome, cookies });
  return redirect(home, {
    cookies: [
      ...cookies,
      markDevice(deps, context.request, { userId: account.id, hasFactor: true }),
    ],
  });
}

type Change = (visit: OwnVisit) => Promise<Response | Rejection>;
const CHANGES: ReadonlyMap<string, Change> = new Map([
  ["rename", rename],
  ["remove", remove],
]);

async function add(visit: OwnVisit, codes: RecoveryCodes): Promise<Rejection | "first" | "done"> {
  const { deps, account, context, fields } = visit;
  const party = findRelyingParty(deps.identity);
  const attestation = readAttestation(fields.get(PASSKEY_FIELD) ?? "");
  const label = readLabel(fields.get(LABEL) ?? "") ?? toDefaultLabel(visit);
  if (party === undefined || attestation === undefined) return reject(WRONG);
  const { sessionId, list } = await readOwnPasskeys(deps);
  const purpose = { kind: "register", userId: account.id, sessionId } as const;
  const challenge = readChallenge(deps, context.request, purpose);
  if (challenge === undefined)
    return reject(
      list.some(({ credentialId }) => credentialId === attestation.id) ? REPEATED : STALE,
    );
  const { waitS } = await beginPasskey(deps, {
    credentialId: attestation.id,
    address: context.address,
  });
  if (waitS > 0) return describeThrottle(deps, waitS);
  const created = await verifyAttestation(attestation, { party, challenge });
  if (created === undefined) return reject(WRONG);
  const added = { ...created, userId: account.id, sessionId, challenge, label, codes };
  const outcome = await addOwnPasskey(deps, added);
  return outcome === "first" || outcome === "done" ? outcome : reject(ISSUES[outcome]);
}

async function rename({ deps, fields }: OwnVisit): Promise<Response | Rejection> {
  const label = readLabel(fields.get(LABEL) ?? "");
  if (label === undefined) return reject(UNNAMED);
  // Renaming a passkey that was removed is not an error.
  await renameOwnPasskey(deps, { ref: fields.get("ref") ?? "", label });
  return redirect(`${PATHS.passkeys}?done=rename`);
}

async function remove({ deps, fields }: OwnVisit): Promise<Response> {
  await removeOwnPasskey(deps, fields.get("ref") ?? "");
  return redirect(`${PATHS.passkeys}?done=remove`);
}

function reject(notice: string): Rejection {
  return { status: 422, notice };
}

function readLabel(text: string): string | undefined {
  const label = text.trim();
  const isUsable = label !== "" && label.length <= PASSKEY_LABEL_MAX_CHARS && isStorableText(label);
  return isUsable ? label : undefined;
}

function toDefaultLabel({ context }: OwnVisit): string {
  return toDeviceName(context.request.headers.get("user-agent"));
}

async function readPasskeys(
  _account: AccountSettings,
  visit: OwnVisit,
  rejection: Rejection | undefined,
): Promise<FormView | Response> {
  const { deps, context } = visit;
  const passkeys = await readOwnPasskeys(deps);
  const removed = passkeys.list.find(({ ref }) => ref === readRemoved(context.query));
  if (removed !== undefined) return await respondWithPasskeyRemoval(visit, removed);
  const party = findRelyingParty(deps.identity);
  const { part, cookies } = renderAdd(visit, { passkeys, party, isNew: rejection !== undefined });
  const instead = (
    <>
      {!passkeys.isFresh && renderStale("Adding or removing a passkey requires", PATHS.passkeys)}
      {passkeys.list.length === 0 ? (
        <p class="empty">No passkeys yet.</p>
      ) : (
        <ul class="sessions">
          {passkeys.list.map((passkey) => renderPasskey(passkey, visit, passkeys))}
        </ul>
      )}
      {part}
      <p class="more">
        <a href={`${PATHS.security}${toReturnQuery(readReturnTo(context.query))}`}>
          Back to security
        </a>
      </p>
    </>
  );
  return { instead, scripts: ["passkey"], cookies };
}

type AddOptions = { passkeys: OwnPasskeys; party: RelyingParty | undefined; isNew: boolean };

/** The form that adds a passkey; `undefined` if the person cannot add one now. */
function renderAdd(
  visit: OwnVisit,
  { passkeys: { list, sessionId, isFresh }, party, isNew }: AddOptions,
): { part: Html | undefined; cookies: string[] } {
  if (party === undefined || !isFresh || list.length >= MAX_PASSKEYS)
    return { part: undefined, cookies: [] };
  const { deps, account, context, token } = visit;
  const purpose = { kind: "register", userId: account.id, sessionId } as const;
  const { challenge, cookies } = makeChallenge(deps, context.request, { purpose, isNew });
  const field = renderField({
    name: LABEL,
    label: "Name of the new passkey",
    maxLength: PASSKEY_LABEL_MAX_CHARS,
    value: toDefaultLabel(visit),
  });
  const part = (
    <div class="part" data-passkey-part hidden>
      <h2>Add a passkey</h2>
      {renderPasskeyForm({
        action: `${PATHS.passkeys}${toReturnQuery(readReturnTo(context.query))}`,
        token,
        kind: "new",
        options: toCreationOptions(party, { challenge, person: account, known: list }),
        fields: field,
        button: "Add a passkey",
        tone: "primary",
      })}
    </div>
  );
  return { part, cookies };
}

function renderPasskey(
  { ref, label, createdAt, lastUsedAt, isBackedUp }: OwnPasskey,
  { deps, token }: OwnVisit,
  { isFresh }: OwnPasskeys,
): Html {
  const now = deps.now();
  const of = <span class="visually-hidden"> {label}</span>;
  const newName = (
    <>
      <label class="visually-hidden" for={`label-${ref}`}>
        New name
      </label>
      <input
        id={`label-${ref}`}
        name={LABEL}
        type="text"
        value={label}
        maxlength={PASSKEY_LABEL_MAX_CHARS}
        autocomplete="off"
        required
      />
    </>
  );
  const rename = renderForm({
    action: PATHS.passkeys,
    token,
    hidden: { [ACTION_FIELD]: "rename", ref },
    fields: newName,
    button: "Save",
    tone: "quiet",
  });
  return renderEntry({
    name: <bdi>{label}</bdi>,
    pill: isBackedUp && <span class="pill">on several devices</span>,
    about: (
      <>
        added {renderTime(createdAt, now)} ·{" "}
        {lastUsedAt === null ? "not used yet" : <>last used {renderTime(lastUsedAt, now)}</>}
      </>
    ),
    below: (
      <details class="rename">
        <summary>Rename{of}</summary>
        {rename}
      </details>
    ),
    actions: isFresh && renderLink(["Remove", of], `${PATHS.passkeys}?remove=${ref}`),
  });
}
