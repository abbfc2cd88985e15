/** The audit log, newest first, of the service or of one app: filtered, paged, and as CSV. @module */
import { type AuditContent, type ConsoleAuditEntry, readConsole } from "../accounts/console/mod.ts";
import { readParameters } from "../http/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { isObject } from "../std/is_object.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import { ACTION_LABELS } from "./action_labels.ts";
import { type ReadFilter, readFilter, renderFilter, toQuery } from "./activity_filter.ts";
import { respondWithAppPage } from "./app_page.ts";
import type { Visit } from "./enter.ts";
import { respondWithConsolePage } from "./frame.ts";
import { renderAddress, renderEmpty, renderTable, renderText, renderTime } from "./parts.ts";
import { ACTIVITY, toAppPath, toPersonPath } from "./paths.ts";
import { ROWS_READ, toPage } from "./search.ts";

const DETAILS_CHARS = 4000;

export async function handleActivity(visit: Visit): Promise<Response> {
  const { page, body, status } = await readActivity(visit, undefined);
  return respondWithConsolePage({ me: page.me, title: "Activity", body, status });
}

/** @throws {Problem} unknown_app */
export async function handleAppActivity(visit: Visit): Promise<Response> {
  const slug = visit.context.params["app"] ?? "";
  const { page, body, status } = await readActivity(visit, slug);
  const { me, app } = page;
  if (app === null) throw new Problem("unknown_app");
  const isDisabled = app.disabledAt !== null;
  return respondWithAppPage({ me, slug, isDisabled, tab: "Activity", body, status });
}

async function readActivity({ deps, context }: Visit, app: string | undefined) {
  const wanted = readFilter(context.query, app);
  const isReadable = wanted.issues.length === 0;
  const page = await readConsole(deps, "list_audit", {
    ...wanted.filter,
    before_id: readBefore(context.query),
    max_rows: isReadable ? ROWS_READ : 0,
    details_chars: DETAILS_CHARS,
  });
  const body = [
    renderFilter(wanted, app),
    isReadable && renderPage(page, wanted, { app, now: deps.now() }),
  ];
  return { page, body, status: isReadable ? 200 : 422 };
}

function readBefore(query: string): number | undefined {
  const before = new Map(readParameters(query)).get("before") ?? "";
  return /^\d{1,15}$/.test(before) ? Number(before) : undefined;
}

function renderPage(
  { entries }: AuditContent,
  { typed }: ReadFilter,
  { app, now }: { app: string | undefined; now: number },
): Part {
  const { page, last } = toPage(entries);
  const query = toQuery(app === undefined ? typed : { ...typed, app: "" }, {
    before: String(last?.id),
  });
  return [
    page.length === 0
      ? renderEmpty("No matching activity.")
      : renderEntries(page, { now, hasApp: app === undefined }),
    html`<p class="action-buttons">${last !== undefined && html`<a class="button button-quiet" href="?${query}">Older</a>`}${page.length > 0 && html`<a class="button button-quiet" href="${ACTIVITY}/csv?${toQuery(typed)}" download>Download as CSV</a>`}</p>`,
  ];
}

function renderEntries(
  entries: readonly ConsoleAuditEntry[],
  { now, hasApp }: { now: number; hasApp: boolean },
): Html {
  return renderTable(
    "Activity",
    ["When", "Event", "Action"],
    entries.map((entry): Part[] => [
      renderTime(entry.at, now),
      html`<div class="event">${renderEvent(entry, hasApp)}${entry.client !== null && html`<span class="row-detail">from ${renderText(entry.client)}</span>`}${renderDetails(entry.details)}</div>`,
      html`<code class="action-name">${entry.action}</code>`,
    ]),
  );
}

/** A sentence with actor, action, person and app. */
function renderEvent(entry: ConsoleAuditEntry, hasApp: boolean): Html {
  const { actor, actorEmail, action, userId, email, appExists } = entry;
  const who = actorEmail === null ? renderText(actor) : renderPerson(actor, actorEmail);
  const app = hasApp ? entry.app : null;
  const person = userId === actor ? null : userId;
  return html`<p>${who} ${ACTION_LABELS[action] ?? action}${(person !== null || app !== null) && ": "}${renderPerson(person, email)}${person !== null && app !== null && " on "}${app !== null && (appExists ? html`<a href="${toAppPath(app)}">${app}</a>` : app)}</p>`;
}

/** A deleted person has only an id. */
function renderPerson(id: string | null, email: string | null): Part {
  if (id === null) return "";
  return email === null
    ? renderText(id)
    : html`<a href="${toPersonPath(id)}">${renderAddress(email)}</a>`;
}

const SHORT_CHARS = 160;

/** A summary of the details, which expands to the full JSON. */
function renderDetails(details: string): Part {
  if (details === "{}") return "";
  const summary = toSummary(details);
  const short = summary.length > SHORT_CHARS ? `${summary.slice(0, SHORT_CHARS)}…` : summary;
  return html`<details><summary><bdi>${short}</bdi></summary><pre class="list-details" tabindex="0"><code><bdi>${details}</bdi></code></pre></details>`;
}

/** The details without JSON punctuation; truncated JSON stays unchanged. */
function toSummary(details: string): string {
  const parsed = tryParseJson(details);
  if (!isObject(parsed)) return details;
  return Object.entries(parsed)
    .map(([name, value]) => `${name}: ${toShort(value)}`)
    .join(", ");
}

function toShort(value: unknown): string {
  const isList = Array.isArray(value) && value.every((item) => typeof item === "string");
  if (isList && value.length > 0) return value.join(" ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
