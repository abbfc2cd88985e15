/** The audit log, newest first: filtered by who, what, which app and whom, and paged. @module */
import { type ConsoleAuditEntry, listConsoleAudit } from "../accounts/mod.ts";
import { readParameters } from "../http/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import type { Visit } from "./enter.ts";
import { answerConsolePage } from "./frame.ts";
import { renderEmpty, renderTable, renderText, renderTextField, renderTime } from "./parts.ts";
import { ACTIVITY, toAppPath } from "./paths.ts";

const PAGE_ROWS = 50;
const FILTERS = [
  { name: "actor", label: "Who", hint: "address or “operator”" },
  { name: "action", label: "Did what", hint: "such as issue_key" },
  { name: "app", label: "App", hint: "its name" },
  { name: "person", label: "To whom", hint: "address or id" },
] as const;
type Filter = Record<(typeof FILTERS)[number]["name"], string>;

export async function answerActivity({ deps, cookies, context }: Visit): Promise<Response> {
  const query = new Map(readParameters(context.query));
  const read = (name: string) => (query.get(name) ?? "").trim().replaceAll("\0", "").slice(0, 254);
  const filter: Filter = {
    actor: read("actor"),
    action: read("action"),
    app: read("app"),
    person: read("person"),
  };
  const before = read("before");
  const { me, entries } = await listConsoleAudit(deps, cookies, {
    ...filter,
    before: /^\d{1,15}$/.test(before) ? Number(before) : undefined,
    most: PAGE_ROWS + 1,
  });
  const shown = entries.slice(0, PAGE_ROWS);
  const last = entries.length > PAGE_ROWS ? shown.at(-1)?.id : undefined;
  return answerConsolePage({
    me,
    entry: "Activity",
    title: "Activity",
    body: [
      renderFilter(filter),
      shown.length === 0
        ? renderEmpty("Nothing like that has happened.")
        : renderEntries(shown, deps.now()),
      last !== undefined && renderOlder(filter, last),
    ],
  });
}

function renderFilter(filter: Filter): Html {
  return html`<form class="filter" method="get" action="${ACTIVITY}" role="search" aria-label="Filter">
${FILTERS.map(({ name, label, hint }) => renderTextField({ name, label, hint, value: filter[name], maxLength: 254 }))}
<div class="filter-buttons"><button class="button button-primary" type="submit">Filter</button><a class="button button-quiet" href="${ACTIVITY}">Clear</a></div>
</form>`;
}

function renderOlder(filter: Filter, last: number): Html {
  const query = new URLSearchParams({ ...filter, before: String(last) });
  return html`<p><a class="button button-quiet" href="${ACTIVITY}?${query.toString()}">Older</a></p>`;
}

function renderEntries(entries: readonly ConsoleAuditEntry[], now: number): Html {
  return renderTable(
    "Activity",
    [
      { name: "When" },
      { name: "Who" },
      { name: "Did what" },
      { name: "App" },
      { name: "To whom" },
      { name: "Details" },
    ],
    entries.map((entry): Part[] => [
      renderTime(entry.at, now),
      renderPerson(entry.actorEmail ?? entry.actor),
      html`<code class="act-name">${entry.action}</code>`,
      entry.app === null ? "" : html`<a href="${toAppPath(entry.app)}">${entry.app}</a>`,
      renderPerson(entry.email ?? entry.userId),
      renderDetails(entry.details),
    ]),
  );
}

function renderPerson(name: string | null): Part {
  return name === null ? "" : html`<span class="person">${renderText(name)}</span>`;
}

const SHORT_CHARS = 60;

/** What changed, as it was noted; a long one opens. */
function renderDetails(details: string): Part {
  if (details === "{}") return "";
  const short = details.length > SHORT_CHARS ? `${details.slice(0, SHORT_CHARS)}…` : details;
  if (short === details) return html`<code><bdi>${details}</bdi></code>`;
  return html`<details><summary><code><bdi>${short}</bdi></code></summary><pre class="list-details" tabindex="0"><code><bdi>${details}</bdi></code></pre></details>`;
}
