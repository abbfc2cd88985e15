/** The steps to a first row: completed steps are marked, the next step has a button or a command. @module */
import type { ConsoleHome } from "../accounts/console/mod.ts";
import { type Html, html } from "../pages/mod.ts";
import type { Visit } from "./enter.ts";
import { renderLink, renderSnippet } from "./parts.ts";
import { NEW_APP, toAppPath } from "./paths.ts";
import { toApiUrl } from "./snippets.ts";

export function renderSteps(visit: Visit, { apps, hasKeys, hasTables }: ConsoleHome): Html {
  const [app] = apps;
  const steps = [
    {
      name: "Create an app",
      isDone: app !== undefined,
      how: html`<p class="quiet">Each app has its own rows, keys and people. Other apps cannot access them.</p>
${renderLink("Create an app", NEW_APP, "primary")}`,
    },
    {
      name: "Issue a key",
      isDone: app !== undefined && hasKeys,
      how:
        app === undefined
          ? html`<p class="quiet">Servers and deployments use it to read, write and push.</p>`
          : html`<p class="quiet">Servers and deployments use it to read, write and push. It is shown once.</p>
${renderLink("Issue a key", `${toAppPath(app.slug)}/new-key`, "primary")}`,
    },
    {
      name: "Push a table and write a row",
      isDone: app !== undefined && hasKeys && hasTables,
      how: html`<p class="quiet">In your project directory, with the key in <code>.env</code>:</p>
${renderSnippet({ id: "first-push", name: "the commands", text: `rowhouse init\nROWHOUSE_URL=${toApiUrl(visit)} rowhouse db push` })}`,
    },
  ];
  const next = steps.findIndex(({ isDone }) => !isDone);
  const items = steps.map(
    ({ name, isDone, how }, position) =>
      html`<li class="step${isDone && " step-done"}"><h3>${name}${isDone && html` <span class="pill pill-good">done</span>`}</h3>${position === next && how}</li>`,
  );
  return html`<section class="sheet" aria-labelledby="steps"><h2 id="steps">Three steps to your first row</h2><ol class="steps">${items}</ol></section>`;
}
