/** @jsxImportSource #html @jsxRuntime automatic */
/** Actions that end the access of a person: disabling, which can be undone, end of all access, sign-out and deletion. @module */

import type { Html, Part } from "../../pages/mod.ts";
import { runAction } from "../../records/actions/mod.ts";
import { type PersonView, readConsole } from "../../records/console/mod.ts";
import { endAccess, namePerson, runOnPerson, setDisabled } from "../../records/people/mod.ts";
import { EMAIL_MAX_CHARS } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import { renderCheck, renderLink, renderText, renderTime } from "../parts.tsx";
import { ACTIVITY, PEOPLE, redirectWithNotice, SESSIONS_ENDED, toPersonPath } from "../paths.ts";
import { findBlocker, findLastBlocker, makePersonAction, renderName } from "./person_parts.tsx";

/** The pages below a person's page, by the last part of their path. */
export const PERSON_ENDINGS = {
  state: makePersonAction({
    action: "set_disabled",
    title: ({ person }) => (person.disabledAt === null ? "Disable" : "Enable"),
    blocker: findLastBlocker,
    form: ({ me, person }) => {
      const isDisabled = person.disabledAt !== null;
      return {
        // The wanted state, not a toggle: a form that is sent twice has no second effect.
        hidden: { disabled: isDisabled ? "no" : "yes" },
        intro: (
          <>
            <p>
              {renderName(person.email)}{" "}
              {isDisabled
                ? "can sign in again, with the same roles."
                : "is signed out everywhere immediately and cannot sign in. Roles are retained. An unused password link stops working."}
            </p>
            {!isDisabled && renderIssuedKeys(person.id)}
            {me.id === person.id && <p>This is your account.</p>}
          </>
        ),
        button: isDisabled ? "Enable" : "Disable",
        ...(isDisabled ? {} : { tone: "danger" }),
      };
    },
    run: async ({ deps, fields }, { person }) => {
      const isDisabled = fields.get("disabled") !== "no";
      await setDisabled(deps, person, isDisabled);
      return redirectWithNotice(toPersonPath(person.id), isDisabled ? "disabled" : "enabled");
    },
    done: {
      disabled: "Account disabled. All sessions have ended.",
      enabled: "Account enabled. The person can sign in again.",
    },
  }),
  "end-access": makePersonAction({
    action: "end_access",
    title: () => "End access",
    blocker: findLastBlocker,
    form: async ({ me, person }, visit) => ({
      intro: (
        <>
          <p>
            {renderName(person.email)} is signed out everywhere immediately and cannot sign in. All
            roles are revoked, on apps and in the Console. The account and its rows remain.
          </p>
          {me.id === person.id && <p>This is your account.</p>}
        </>
      ),
      fields: await renderKeyChoices(visit, person.id),
      button: "End access",
      tone: "danger",
    }),
    run: async ({ deps, fields }, { person }) => {
      const chosen = [...fields.keys()].filter((name) => name.startsWith(KEY));
      const keyIds = chosen.map((name) => name.slice(KEY.length));
      await endAccess(deps, person, keyIds);
    },
    done: { left: "All access has ended: sessions, roles and the chosen keys." },
  }),
  "end-sessions": makePersonAction({
    action: "end_sessions",
    title: () => "End all sessions",
    blocker: findBlocker,
    form: ({ me, person, sessions }) => ({
      intro: (
        <>
          <p>
            {renderName(person.email)} is signed out of all apps immediately, on every device:{" "}
            {sessions.length} {sessions.length === 1 ? "session" : "sessions"}.
          </p>
          {me.id === person.id && <p>This is your account: you are signed out too.</p>}
        </>
      ),
      button: "End all sessions",
      tone: "danger",
    }),
    run: ({ deps }, { person }) => runOnPerson(deps, "end_sessions", person),
    done: SESSIONS_ENDED,
  }),
  "sessions/:session": makePersonAction({
    action: "end_session",
    title: () => "End a session",
    blocker: findBlocker,
    form: ({ person }, { context }) => ({
      intro: (
        <p>
          This ends the session <code>{renderText(context.params["session"] ?? "")}</code> of{" "}
          {renderName(person.email)} immediately. Other sessions continue.
        </p>
      ),
      button: "End the session",
      tone: "danger",
    }),
    // A session that has already ended counts as success.
    run: ({ deps, context }, { person }) =>
      runAction(deps, "end_session", {
        ...namePerson(person),
        session_id: context.params["session"] ?? "",
      }),
    done: SESSIONS_ENDED,
  }),
  delete: makePersonAction({
    action: "delete_user",
    title: () => "Delete a person",
    blocker: findLastBlocker,
    fields: ({ person: { email } }) => ({
      typed_address: {
        label: <>Type {renderText(email)} to delete it</>,
        maxLength: EMAIL_MAX_CHARS,
        inputMode: "email",
        mustBe: email,
        check: (typed: string) =>
          typed.toLowerCase() === email ? [] : [`Type ${email} to delete it`],
      },
    }),
    form: ({ me, person }) => ({
      intro: (
        <>
          <p>
            This deletes the account with its roles, sessions and password. It cannot be undone.
            Rows that name the person do not change. The audit log keeps only the id.
          </p>
          {renderIssuedKeys(person.id)}
          <p class="quiet">To keep the roles, disable the account instead.</p>
          {me.id === person.id && <p>This is your account.</p>}
        </>
      ),
      button: "Delete permanently",
      tone: "danger",
    }),
    run: async ({ deps }, { person }) => {
      await runOnPerson(deps, "delete_user", person);
      return redirectWithNotice(PEOPLE, "deleted");
    },
    done: { deleted: "Account deleted. The audit log keeps only its id." },
  }),
};

/** The names of boxes start with it. */
const KEY = "key ";
const MAX_KEYS = 100;

/**
 * The active keys that the person issued. A key that was never used is chosen: no program stops. One that was used is not, because
 * only its app knows whether a program still needs it.
 */
async function renderKeyChoices({ deps, fields }: Visit, person: string): Promise<Part> {
  const values = { person, max_rows: MAX_KEYS };
  const { keys } = await readConsole(deps, "list_issued_keys", values);
  if (keys.length === 0) return <p class="quiet">This person has issued no key that is active.</p>;
  const isChosen = (keyId: string, lastUsedAt: string | null) =>
    deps.isForm ? fields.has(`${KEY}${keyId}`) : lastUsedAt === null;
  return (
    <fieldset class="field">
      <legend>API keys to revoke</legend>
      <p class="quiet">
        This person issued these keys and can have a copy. Programs that use a revoked key stop
        working: rotate such a key instead.
      </p>
      {keys.map(({ keyId, name, app, lastUsedAt }) => {
        const used =
          lastUsedAt === null ? "never used" : ["last used ", renderTime(lastUsedAt, deps.now())];
        const text = (
          <>
            <b>{renderText(name === "" ? keyId : name)}</b> on {app}{" "}
            <span class="quiet">{used}</span>
          </>
        );
        return renderCheck(`${KEY}${keyId}`, text, { isChecked: isChosen(keyId, lastUsedAt) });
      })}
      {keys.length === MAX_KEYS && <p>Only {MAX_KEYS} keys are listed. Open this form again.</p>}
    </fieldset>
  );
}

/** Neither disabling nor deletion revokes a key: the page that ends the access lists those that the person issued. */
function renderIssuedKeys(person: string): Html {
  return (
    <p class="quiet">
      API keys belong to apps and keep working, also{" "}
      <a href={`${toPersonPath(person)}/end-access`}>those that this person issued</a>.
    </p>
  );
}

/** The part of a person's page that leads to these actions. */
export function renderEnd(page: PersonView): Html {
  const { person } = page;
  const path = toPersonPath(person.id);
  const isDisabled = person.disabledAt !== null;
  const hasRoles = person.consoleRole !== null || page.grants.length > 0;
  const blocker = findLastBlocker(page);
  const log = `${ACTIVITY}?${new URLSearchParams({ person: person.id })}`;
  return (
    <section class="sheet" aria-labelledby="end">
      <h2 id="end">{isDisabled ? "Enable or delete" : "Disable or delete"}</h2>
      {blocker === undefined ? (
        <>
          <p class="quiet">
            {isDisabled
              ? `This account cannot sign in. ${hasRoles ? "Its roles are retained." : "It has no roles."}`
              : "Disabling ends all sessions immediately and keeps the roles."}{" "}
            Ending the access also revokes the roles, and the API keys that you choose. Deleting
            removes the account, its roles and sessions. The audit log keeps only the id.
          </p>
          <div class="action-buttons">
            {renderLink(isDisabled ? "Enable" : "Disable", `${path}/state`, "quiet", {
              isDialog: true,
            })}
            {renderLink("End access", `${path}/end-access`, "danger", { isDialog: true })}
            {renderLink("Delete", `${path}/delete`, "danger", { isDialog: true })}
          </div>
        </>
      ) : (
        <p>{blocker}</p>
      )}
      <p class="sheet-foot">
        <a href={log}>Activity for this person</a>
      </p>
    </section>
  );
}
