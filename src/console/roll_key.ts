/** Rolling a key: a copy is shown once, and the old one ends after a grace period. @module */
import {
  GRACES,
  type Grace,
  makeKeyId,
  rollKeyByConsole,
  showConsoleApp,
} from "../accounts/mod.ts";
import { html } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { answerAppAct } from "./app_page.ts";
import { answerToSignIn, type Visit } from "./enter.ts";
import { answerIssuedKey } from "./issued_key.ts";
import { readActiveKey } from "./keys.ts";
import { renderActForm, renderFault, renderSelect, renderText } from "./parts.ts";
import { toAppPath, toKeyPath } from "./paths.ts";
import { readKeyId, toMessages } from "./read.ts";

const GRACE_WORDS: Readonly<Record<Grace, string>> = {
  "0": "at once",
  "1h": "in an hour",
  "24h": "in a day",
  "7d": "in a week",
};

export async function answerRoll(visit: Visit): Promise<Response> {
  return await answerForm(visit, []);
}

export async function answerRollForm(visit: Visit): Promise<Response> {
  const { deps, cookies, context, fields } = visit;
  const { app: slug = "", key: oldKeyId = "" } = context.params;
  const grace = (Object.keys(GRACES) as Grace[]).find((one) => one === fields.get("grace"));
  if (grace === undefined) return await answerForm(visit, ["Choose when the old key ends"]);
  const keyId = readKeyId(fields.get("key_id"));
  const { me, app, keys } = await showConsoleApp(deps, cookies, slug);
  try {
    const { text } = await rollKeyByConsole(deps, cookies, { slug, oldKeyId, keyId, grace });
    const scopes = keys.find((key) => key.keyId === oldKeyId)?.scopes ?? [];
    return answerIssuedKey(visit, { me, slug, text, scopes, table: app.tables[0] });
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "invalid_request") throw error;
    return await answerForm(visit, toMessages(error));
  }
}

async function answerForm(visit: Visit, faults: readonly string[]): Promise<Response> {
  const { deps, context, token } = visit;
  const { me, slug, keyId, key } = await readActiveKey(visit);
  if (!me.isFresh) return answerToSignIn(context);
  const form = renderActForm({
    action: `${toKeyPath(slug, keyId)}/roll`,
    token,
    fields: [
      html`<p>A copy of <b>${renderText(key.name === "" ? keyId : key.name)}</b> with the same name, rights and lifetime is made and shown once. Give it to whoever uses the old one before that ends.</p>`,
      html`<input type="hidden" name="key_id" value="${makeKeyId(deps.randomBytes)}">`,
      renderSelect({
        name: "grace",
        label: "The old key ends",
        choices: Object.entries(GRACE_WORDS).map(([value, label]) => ({ value, label })),
        value: "24h",
        hint: "Never later than it would have anyway.",
      }),
    ],
    button: "Roll the key",
    cancel: toAppPath(slug),
  });
  const body = [faults.length > 0 && renderFault("The key was not rolled.", faults), form];
  return answerAppAct({
    me,
    slug,
    title: "Roll a key",
    body,
    status: faults.length > 0 ? 422 : 200,
  });
}
