/** The list of apps by slug, with search and pages. @module */
import { type ConsoleApp, readConsole } from "../accounts/console/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { renderDone } from "./done.ts";
import type { Visit } from "./enter.ts";
import { respondWithConsolePage } from "./frame.ts";
import {
  renderEmpty,
  renderLink,
  renderPill,
  renderTable,
  renderText,
  renderTime,
} from "./parts.ts";
import { APPS, NEW_APP, toAppPath } from "./paths.ts";
import { ROWS_READ, readListQuery, renderNext, toPage } from "./search.ts";

const SLUG_MAX = 40;

export async function handleApps(visit: Visit): Promise<Response> {
  const { search, after } = readListQuery(visit.context.query, { maxLength: SLUG_MAX });
  const { me, apps } = await readConsole(visit.deps, "list_apps", {
    search,
    after_slug: after,
    max_rows: ROWS_READ,
  });
  const { page, last } = toPage(apps);
  return respondWithConsolePage({
    me,
    title: "Apps",
    actions: renderLink("New app", NEW_APP, "primary", { keys: "n" }),
    body: [
      renderDone(visit),
      search !== "" && renderSearched(search),
      page.length === 0 ? renderNone(search, after) : renderAppList(page, visit.deps.now()),
      last !== undefined && renderNext(APPS, { q: search, after: last.slug }),
    ],
  });
}

function renderSearched(search: string): Html {
  return html`<p class="quiet">Apps whose name contains ${renderText(search)}. <a href="${APPS}">All apps</a></p>`;
}

function renderNone(search: string, after: string): Html {
  if (search !== "") return renderEmpty("No matching apps.");
  if (after !== "") return renderEmpty("No more apps.");
  return renderEmpty(
    "No apps yet. Each app has its own rows, keys and people.",
    renderLink("Create an app", NEW_APP, "primary"),
  );
}

function renderAppList(apps: readonly ConsoleApp[], now: number): Html {
  return renderTable(
    "Apps",
    [
      "App",
      "Address",
      { name: "Tables", isNumber: true },
      { name: "Keys", isNumber: true },
      "Last push",
    ],
    apps.map((app): Part[] => [
      html`<a class="row-name" href="${toAppPath(app.slug)}">${app.slug}</a>${app.disabledAt !== null && html` ${renderPill("disabled", "warn")}`}`,
      app.origin === null
        ? html`<span class="quiet">none yet</span>`
        : renderText(new URL(app.origin).host),
      app.tables,
      app.keys,
      renderTime(app.pushedAt, now),
    ]),
  );
}
