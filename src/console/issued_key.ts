/** The one time that a key is shown, with what it is pasted into. @module */
import type { ConsoleVisitor } from "../accounts/console/mod.ts";
import { html, renderCopyButton } from "../pages/mod.ts";
import type { Scope } from "../principal.ts";
import { answerAppAct } from "./app_page.ts";
import type { Visit } from "./enter.ts";
import { renderLink, renderSnippet } from "./parts.ts";
import { toKeysPath } from "./paths.ts";
import { makeSnippets, NO_TABLE, toApiUrl } from "./snippets.ts";

export function answerIssuedKey(
  visit: Visit,
  { me, slug }: { me: ConsoleVisitor; slug: string },
  issued: { text: string; scopes: readonly Scope[]; table: string | undefined },
): Response {
  const { text, scopes, table } = issued;
  const snippets = makeSnippets({ url: toApiUrl(visit), key: text, scopes, table });
  const body = html`<section class="sheet" aria-label="The new key">
<p>It is shown this once and stored nowhere: not here, not in the log. A click selects all of it.</p>
<p class="secret"><code id="key">${text}</code>${renderCopyButton("key", "the key")}</p>
${table === undefined && html`<p>This app has no table yet: <code>rowhouse db push</code> creates those of a schema, with a key that may push. Then put a table's name in the place of <code>${NO_TABLE}</code>.</p>`}
${snippets.map(({ name, text }, place) => html`<h2>${name}</h2>${renderSnippet({ id: `snippet-${place}`, name, text })}`)}
<div class="act-buttons">${renderLink("I have stored it", toKeysPath(slug), "primary")}</div>
</section>`;
  return answerAppAct({ me, slug }, { title: "Copy this key now", body });
}
