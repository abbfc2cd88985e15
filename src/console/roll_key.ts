/** Rotates a key: shows the new key once. The old key expires after a grace period. @module */
import { readInput } from "../accounts/actions/mod.ts";
import { GRACE, rollKey } from "../accounts/apps/mod.ts";
import { makeIdText } from "../accounts/secrets/mod.ts";
import { html } from "../pages/mod.ts";
import { respondWithAppAction } from "./app_page.ts";
import { makeFormPage, readText, renderInput } from "./form_page.ts";
import { readActiveKey } from "./keys.ts";
import { respondWithIssuedKey } from "./new_key.ts";
import { renderText } from "./parts.ts";
import { toKeysPath } from "./paths.ts";
import { readKeyId } from "./read.ts";

export const rollKeyPage = makeFormPage({
  action: "roll_key",
  read: readActiveKey,
  title: () => "Rotate a key",
  form: ({ keyId, key }, { deps }) => ({
    fields: [
      html`<p>This creates a key with the name, scopes and lifetime of <b>${renderText(key.name === "" ? keyId : key.name)}</b>, and shows it once. Replace the old key everywhere before it expires.</p>`,
      html`<input type="hidden" name="key_id" value="${makeIdText(deps.randomBytes)}">`,
      renderInput("grace", GRACE, "24h"),
    ],
    button: "Rotate the key",
  }),
  run: async (visit, content) => {
    const { slug, keyId, key, app } = content;
    const grace = readInput(GRACE, "grace", readText(visit.fields, "grace"));
    const newKeyId = readKeyId(visit.fields.get("key_id"));
    const { text } = await rollKey(visit.deps, keyId, grace, { slug, newKeyId });
    return respondWithIssuedKey(visit, content, { text, scopes: key.scopes, table: app.tables[0] });
  },
  cancel: (_visit, { slug }) => toKeysPath(slug),
  respond: respondWithAppAction,
  failed: "The key was not rotated.",
});
