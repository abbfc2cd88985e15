/** Home: issues, requests of the apps, and the steps to a first row for an empty service. @module */
import { type ConsoleHome, readConsole, type Span } from "../accounts/console/mod.ts";
import { CONSOLE_PATH } from "../identity/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { renderAttention, renderCalm } from "./attention.ts";
import { renderAxis } from "./axis.ts";
import type { Visit } from "./enter.ts";
import { renderSteps } from "./first_steps.ts";
import { respondWithConsolePage } from "./frame.ts";
import { readSpan, renderNumberCells, renderSpans, renderStats, toSpanText } from "./numbers.ts";
import { renderLink, renderPill, renderTable, renderText, renderTime } from "./parts.ts";
import { APPS, NEW_APP, toAppPath } from "./paths.ts";

/** Max apps on Home. */
const MAX_APPS = 20;

export async function handleHome(visit: Visit): Promise<Response> {
  const span = readSpan(visit.context.query);
  const home = await readConsole(visit.deps, "home", { wanted_span: span, max_rows: MAX_APPS });
  const { me, apps, axis } = home;
  const now = visit.deps.now();
  const hasRows = apps.length > 0 && home.hasKeys && home.hasTables;
  return respondWithConsolePage({
    me,
    entry: "Home",
    title: me.displayName === null ? "Home" : `Hello, ${me.displayName.slice(0, 60)}`,
    actions: apps.length > 0 && [
      renderSpans(span, CONSOLE_PATH),
      renderLink("New app", NEW_APP, "quiet", { keys: "n" }),
    ],
    body: [
      renderAttention(home, now),
      !hasRows && renderSteps(visit, home),
      apps.length > 0 && [
        renderStats(axis, { span, slug: "", now }),
        renderAxis({ axis, span, slug: "", now }),
        renderApps(home, span, now),
      ],
      renderCalm(home, now),
    ],
  });
}

function renderApps({ apps, appCount }: ConsoleHome, span: Span, now: number): Html {
  const columns = [
    "App",
    toSpanText(span),
    { name: "Requests / s", isNumber: true },
    { name: "Errors", isNumber: true },
    { name: "p99", isNumber: true },
    { name: "Tables", isNumber: true },
    "Last push",
  ];
  const rows = apps.map((app): Part[] => [
    html`<span class="row-title"><a class="row-name" href="${toAppPath(app.slug)}">${app.slug}</a>${app.disabledAt !== null && html` ${renderPill("disabled", "warn")}`}
<span class="row-detail">${app.origin === null ? "no address yet" : renderText(new URL(app.origin).host)}</span></span>`,
    ...renderNumberCells(app.numbers, span),
    app.tables,
    renderTime(app.pushedAt, now),
  ]);
  return html`${renderTable("Apps", columns, rows)}
${appCount > apps.length && html`<p><a href="${APPS}">All ${appCount.toLocaleString("en")} apps</a></p>`}`;
}
