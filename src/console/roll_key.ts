/** Rolling a key: a copy is shown once, and the old one ends after a grace period. @module */
import { GRACES, type Grace, rollKey } from "../accounts/apps/mod.ts";
import { makeIdText } from "../accounts/secrets/mod.ts";
import { html } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { answerAppAct } from "./app_page.ts";
import { makeFormPage } from "./form_page.ts";
import { answerIssuedKey } from "./issued_key.ts";
import { readActiveKey } from "./keys.ts";
import { renderSelect, renderText } from "./parts.ts";
import { toAppPath } from "./paths.ts";
import { readKeyId } from "./read.ts";

const GRACE_WORDS: Readonly<Record<Grace, string>> = {
  "0": "at once",
  "1h": "in an hour",
  "24h": "in a day",
  "7d": "in a week",
};

export const rollKeyPage = makeFormPage({
  read: readActiveKey,
  title: () => "Rotate a key",
  form: ({ keyId, key }, { deps }) => ({
    fields: [
      html`<p>A copy of <b>${renderText(key.name === "" ? keyId : key.name)}</b> with the same name, scopes and lifetime is created and shown once. Replace the old key wherever it is used before it ends.</p>`,
      html`<input type="hidden" name="key_id" value="${makeIdText(deps.randomBytes)}">`,
      renderSelect({
        name: "grace",
        label: "The old key ends",
        choices: Object.entries(GRACE_WORDS).map(([value, label]) => ({ value, label })),
        value: "24h",
        hint: "Never later than it would have anyway.",
      }),
    ],
    button: "Rotate the key",
  }),
  run: async (visit, content) => {
    const { slug, keyId, key, app } = content;
    const grace = readGrace(visit.fields.get("grace"));
    const newKeyId = readKeyId(visit.fields.get("key_id"));
    const { text } = await rollKey(visit.deps, keyId, grace, { slug, newKeyId });
    return answerIssuedKey(visit, content, { text, scopes: key.scopes, table: app.tables[0] });
  },
  cancel: (_visit, { slug }) => toAppPath(slug),
  answer: answerAppAct,
  failed: "The key was not rotated.",
});

function readGrace(text: string | undefined): Grace {
  const grace = (Object.keys(GRACES) as Grace[]).find((known) => known === text);
  if (grace !== undefined) return grace;
  throw new Problem("invalid_request", { message: "Choose when the old key ends" });
}
