/** Revoking a key: from then on every process refuses it. @module */
import { revokeKeyByConsole } from "../accounts/mod.ts";
import { answerSeeOther, html } from "../pages/mod.ts";
import { answerAppAct } from "./app_page.ts";
import { answerToSignIn, type Visit } from "./enter.ts";
import { readActiveKey } from "./keys.ts";
import { renderActForm, renderText, renderTime } from "./parts.ts";
import { toAppPath, toKeyPath } from "./paths.ts";

export async function answerRevocation(visit: Visit): Promise<Response> {
  const { deps, context, token } = visit;
  const { me, slug, keyId, key } = await readActiveKey(visit);
  if (!me.isFresh) return answerToSignIn(context);
  const form = renderActForm({
    action: `${toKeyPath(slug, keyId)}/revoke`,
    token,
    fields: html`<p>Whoever uses <b>${renderText(key.name === "" ? keyId : key.name)}</b> is refused from now on. This cannot be undone.</p>
<p class="quiet">Last used: ${renderTime(key.lastUsedAt, deps.now())}. To replace it without an interruption, roll it instead.</p>`,
    button: "Revoke the key",
    look: "danger",
    cancel: toAppPath(slug),
  });
  return answerAppAct({ me, slug, title: "Revoke a key", body: form });
}

export async function answerRevocationForm({ deps, cookies, context }: Visit): Promise<Response> {
  const { app: slug = "", key: keyId = "" } = context.params;
  await revokeKeyByConsole(deps, cookies, { slug, keyId });
  return answerSeeOther(toAppPath(slug));
}
