/** Failed and slow requests: the latest ones by app, and the one that somebody has the reference of. @module */
import { type KeptRequest, listConsoleRequests } from "../accounts/console/mod.ts";
import { readParameters } from "../http/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { isUuid } from "../std/is_uuid.ts";
import type { Visit } from "./enter.ts";
import { answerConsolePage } from "./frame.ts";
import { toMs } from "./numbers.ts";
import {
  renderEmpty,
  renderPill,
  renderTable,
  renderText,
  renderTextField,
  renderTime,
} from "./parts.ts";
import { REQUESTS, toAppPath } from "./paths.ts";

const PAGE_ROWS = 100;
const REFERENCE = /^[0-9a-f]{12}$/;
const KEPT =
  "Kept for a day are those that were answered 500 and above or took longer than a second, at most 100 a minute of each process, soon after the minute in which they came.";

export async function answerRequests({ deps, cookies, context }: Visit): Promise<Response> {
  const query = new Map(readParameters(context.query));
  const read = (name: string) => (query.get(name) ?? "").replaceAll("\0", "").trim().slice(0, 60);
  const id = read("id").toLowerCase();
  const app = read("app");
  const isId = isUuid(id) || REFERENCE.test(id);
  // What is no id at all finds nothing, and is said to be none.
  const { me, requests } = await listConsoleRequests(deps, cookies, {
    reference: id,
    app,
    most: id === "" || isId ? PAGE_ROWS : 0,
  });
  return answerConsolePage({
    me,
    entry: "Requests",
    title: "Failed and slow requests",
    body: [
      renderFilter(id, app),
      requests.length === 0
        ? renderEmpty(toAbsence({ id, isId, app }))
        : renderRequests(requests, deps.now()),
      html`<p class="quiet">${KEPT}</p>`,
    ],
  });
}

function toAbsence({ id, isId, app }: { id: string; isId: boolean; app: string }): Part {
  if (id === "")
    return app === ""
      ? "No request has failed or was slow in the last day."
      : "None of this app's requests has failed or was slow in the last day.";
  if (!isId)
    return "This is no id of a request: it is the x-request-id of its answer, or the reference of 12 characters that a page shows.";
  return "No request with this id is kept: it was answered below 500 and within a second, as refusals are, or it is more than a day old, or came less than a minute ago.";
}

function renderFilter(id: string, app: string): Html {
  return html`<form class="filter" method="get" action="${REQUESTS}" role="search" aria-label="Find requests">
${renderTextField({ name: "id", label: "Id or reference", hint: "of the answer, or on the page", value: id, maxLength: 60 })}
${renderTextField({ name: "app", label: "App", hint: "its name", value: app, maxLength: 40 })}
<div class="filter-buttons"><button class="button button-primary" type="submit">Find</button><a class="button button-quiet" href="${REQUESTS}">Clear</a></div>
</form>`;
}

const SLOW_MS = 1000;

function renderRequests(requests: readonly KeptRequest[], now: number): Html {
  const columns = [
    { name: "When" },
    { name: "App" },
    { name: "Request" },
    { name: "Answer" },
    { name: "Took", isNumber: true },
    { name: "Id" },
  ];
  return renderTable(
    "Failed and slow requests",
    columns,
    requests.map(({ id, app, at, method, route, status, code, ms }): Part[] => [
      renderTime(at, now),
      app === null
        ? html`<span class="quiet">none</span>`
        : html`<a href="${toAppPath(app)}">${app}</a>`,
      html`<code><b>${method}</b> ${renderText(route)}</code>`,
      html`<span class="answer">${renderPill(String(status), status >= 500 ? "bad" : "plain")}${code !== null && html` <code class="act-name">${code}</code>`}</span>`,
      ms > SLOW_MS ? html`<b>${toMs(ms)}</b>` : toMs(ms),
      html`<code class="request-id">${id}</code>`,
    ]),
  );
}
