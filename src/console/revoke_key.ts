/** Revoking a key: from then on every process refuses it. @module */
import { revokeKey } from "../accounts/apps/mod.ts";
import { html } from "../pages/mod.ts";
import { answerAppAct } from "./app_page.ts";
import { answerDone } from "./done.ts";
import { makeFormPage } from "./form_page.ts";
import { noActiveKey, readActiveKey } from "./keys.ts";
import { renderText, renderTime } from "./parts.ts";
import { toKeysPath } from "./paths.ts";

export const revokeKeyPage = makeFormPage({
  action: "revoke_key",
  read: readActiveKey,
  title: () => "Revoke a key",
  form: ({ keyId, key }, { deps }) => ({
    fields: html`<p>Whoever uses <b>${renderText(key.name === "" ? keyId : key.name)}</b> is refused from now on. This cannot be undone.</p>
<p class="quiet">Last used: ${renderTime(key.lastUsedAt, deps.now())}. To replace it without an interruption, rotate it instead.</p>`,
    button: "Revoke the key",
    look: "danger",
  }),
  run: async ({ deps }, { slug, keyId }) => {
    if (!(await revokeKey(deps, keyId, slug))) throw noActiveKey();
    return answerDone(toKeysPath(slug), "key-revoked");
  },
  cancel: (_visit, { slug }) => toKeysPath(slug),
  answer: answerAppAct,
});
