/** Home: what needs attention, the apps, and on an empty service the steps to a first row. @module */
import { type ConsoleApp, type ConsoleHome, readConsoleHome } from "../accounts/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { renderAppList } from "./apps.ts";
import type { Visit } from "./enter.ts";
import { answerConsolePage } from "./frame.ts";
import { renderLink, renderSnippet, renderText, renderTime } from "./parts.ts";
import { APPS, NEW_APP, toAppPath, toKeyPath } from "./paths.ts";
import { toApiUrl } from "./snippets.ts";

/** More are on the page of all apps. */
const MOST_APPS = 20;

export async function answerHome(visit: Visit): Promise<Response> {
  const home = await readConsoleHome(visit.deps, visit.cookies);
  const { me, apps } = home;
  const now = visit.deps.now();
  const hasRows = apps.length > 0 && home.hasKeys && home.hasTables;
  return answerConsolePage({
    me,
    entry: "Home",
    title: me.displayName === null ? "Home" : `Hello, ${me.displayName.slice(0, 60)}`,
    actions: apps.length > 0 && renderLink("New app", NEW_APP, "quiet", { keys: "n" }),
    body: [
      renderAttention(home, now),
      !hasRows && renderSteps(visit, home),
      apps.length > 0 && renderApps(apps, now),
    ],
  });
}

function renderApps(apps: readonly ConsoleApp[], now: number): Html {
  return html`<h2>Apps</h2>
${renderAppList(apps.slice(0, MOST_APPS), now)}
${apps.length > MOST_APPS && html`<p><a href="${APPS}">All apps</a></p>`}`;
}

function renderAttention({ endingKeys, builds, apps }: ConsoleHome, now: number): Part {
  const notes = [
    ...endingKeys.map(
      (
        key,
      ) => html`<li><span>The key ${renderText(key.name === "" ? key.keyId : key.name)} of <b>${key.app}</b> expires ${renderTime(key.expiresAt, now)}.</span>
${renderLink("Roll it", `${toKeyPath(key.app, key.keyId)}/roll`)}</li>`,
    ),
    ...builds.map(
      (build) =>
        html`<li><span>The ${build.kind} <code>${build.name}</code> of table <code>${build.table}</code>, which <b>${build.app}</b> pushed, ${BUILD_STATES[build.state] ?? "is not there yet"}.</span></li>`,
    ),
  ];
  if (notes.length > 0)
    return html`<section class="attention" aria-label="Needs attention"><ul>${notes}</ul></section>`;
  return apps.length > 0 && html`<p class="calm">Nothing needs attention.</p>`;
}

const BUILD_STATES: Readonly<Record<string, string>> = {
  waiting: "waits to be built",
  running: "is being built",
  failed: "could not be built: rowhouse db status says why",
};

/** The way to a first row: what is done is ticked, what comes next has a button or a command. */
function renderSteps(visit: Visit, { apps, hasKeys, hasTables }: ConsoleHome): Html {
  const [app] = apps;
  const steps = [
    {
      name: "Create an app",
      isDone: app !== undefined,
      how: html`<p class="quiet">An app has rows, keys and people of its own; no other app sees them.</p>
${renderLink("Create an app", NEW_APP, "primary")}`,
    },
    {
      name: "Issue a key",
      isDone: app !== undefined && hasKeys,
      how:
        app === undefined
          ? html`<p class="quiet">A server or a deployment reads, writes and pushes with it.</p>`
          : html`<p class="quiet">A server or a deployment reads, writes and pushes with it. It is shown once.</p>
${renderLink("Issue a key", `${toAppPath(app.slug)}/new-key`, "primary")}`,
    },
    {
      name: "Push a first table, and write a row",
      isDone: app !== undefined && hasKeys && hasTables,
      how: html`<p class="quiet">In your project's folder, with the key in <code>.env</code>:</p>
${renderSnippet({ id: "first-push", name: "the commands", text: `rowhouse init\nROWHOUSE_URL=${toApiUrl(visit)} rowhouse db push` })}`,
    },
  ];
  const next = steps.findIndex(({ isDone }) => !isDone);
  const items = steps.map(
    ({ name, isDone, how }, place) =>
      html`<li class="step${isDone && " step-done"}"><h3>${name}${isDone && html` <span class="pill pill-good">done</span>`}</h3>${place === next && how}</li>`,
  );
  return html`<section class="sheet" aria-labelledby="steps"><h2 id="steps">Three steps to a first row</h2><ol class="steps">${items}</ol></section>`;
}
