/** How a first table is pushed: the command, to copy. @module */
import { type Html, html } from "../pages/mod.ts";
import type { Visit } from "./enter.ts";
import { renderSnippet } from "./parts.ts";
import { toApiUrl } from "./snippets.ts";

export function renderPushHint(visit: Visit): Html {
  return html`<p>In your project's folder, with a key that may push in <code>.env</code>:</p>
${renderSnippet({ id: "push-command", name: "the command", text: `ROWHOUSE_URL=${toApiUrl(visit)} rowhouse db push` })}`;
}
