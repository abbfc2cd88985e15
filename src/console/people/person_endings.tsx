/** @jsxImportSource #html @jsxRuntime automatic */
/** The end of a person's access: the keys to revoke with it, and the part of the person's page that leads to it. @module */

import type { Html, Part } from "../../pages/mod.ts";
import { type PersonView, readConsole } from "../../records/console/mod.ts";
import { findLastBlocker } from "../../records/people/mod.ts";
import { renderSaid } from "../action_page.tsx";
import type { Visit } from "../enter.tsx";
import { renderCheck, renderLink, renderMenu, renderText, renderTime } from "../parts.tsx";
import { ACTIVITY, toPersonPath } from "../paths.ts";

/** The names of boxes start with it. */
const KEY = "key ";
const MAX_KEYS = 100;

/**
 * The active keys that the person issued. A key that was never used is chosen: no program stops. One that was used is not, because
 * only its app knows whether a program still needs it.
 */
export async function renderKeyChoices(
  { deps, fields }: Visit,
  { person }: PersonView,
): Promise<Part> {
  const values = { person: person.id, max_rows: MAX_KEYS };
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

/** The ids of the chosen keys. */
export function readKeyChoices({ fields }: Visit): { keys: string } {
  const chosen = [...fields.keys()].filter((name) => name.startsWith(KEY));
  return { keys: chosen.map((name) => name.slice(KEY.length)).join(" ") };
}

/** The part of a person's page that leads to these actions. */
export function renderEnd(page: PersonView, visit: Visit): Html {
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
            {renderLink("End access", `${path}/end-access`, "quiet", { isDialog: true })}
            {renderMenu(
              "this account",
              [renderLink("Delete", `${path}/delete`, "danger", { isDialog: true })],
              "account",
            )}
          </div>
        </>
      ) : (
        renderSaid(blocker, visit, path)
      )}
      <p class="sheet-foot">
        <a href={log}>Activity for this person</a>
      </p>
    </section>
  );
}
