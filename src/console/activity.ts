/** The audit log, newest first, of the service or of one app: filtered, paged, and as CSV. @module */
import { type AuditEntry, auditList, toCsvHead, toCsvRows } from "../accounts/actions/mod.ts";
import { readConsole } from "../accounts/console/mod.ts";
import { labelAction } from "../db/mod.ts";
import { readParameters } from "../http/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { isObject } from "../std/is_object.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import { type ReadFilter, readFilter, renderFilter, toQuery } from "./activity_filter.ts";
import { respondWithAppPage } from "./app_page.ts";
import type { Visit } from "./enter.ts";
import { respondWithConsolePage } from "./frame.ts";
import { renderListTable } from "./list_table.ts";
import { renderAddress, renderEmpty, renderText } from "./parts.ts";
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
  { entries }: { entries: readonly AuditEntry[] },
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
  entries: readonly AuditEntry[],
  { now, hasApp }: { now: number; hasApp: boolean },
): Html {
  return renderListTable(auditList, entries, {
    label: "Activity",
    now,
    cells: {
      actor: (entry) =>
        html`<div class="event">${renderEvent(entry, hasApp)}${entry.client !== null && html`<span class="row-detail">from ${renderText(entry.client)}</span>`}${renderDetails(entry.details)}</div>`,
      action: ({ action }) => html`<code class="action-name">${action}</code>`,
    },
  });
}

/** A sentence with actor, action, person and app. */
function renderEvent(entry: AuditEntry, hasApp: boolean): Html {
  const { actor, actorEmail, action, userId, email, appExists } = entry;
  const who = actorEmail === null ? renderText(actor) : renderPerson(actor, actorEmail);
  const app = hasApp ? entry.app : null;
  const person = userId === actor ? null : userId;
  return html`<p>${who} ${labelAction(action)}${(person !== null || app !== null) && ": "}${renderPerson(person, email)}${person !== null && app !== null && " on "}${app !== null && (appExists ? html`<a href="${toAppPath(app)}">${app}</a>` : app)}</p>`;
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

const CSV_PAGE_ROWS = 1000;
/** Max characters of a spreadsheet cell. */
const CSV_DETAILS_CHARS = 32_000;

/** @throws {Problem} invalid_query — with every issue of the filter */
export async function handleActivityCsv(visit: Visit): Promise<Response> {
  const { issues } = readFilter(visit.context.query, undefined);
  if (issues.length > 0) throw new Problem("invalid_query", { message: issues.join("; ") });
  // Read the first page before the response begins, so that a rejection has its own status.
  const first = await readCsvPage(visit, undefined);
  const day = new Date(visit.deps.now()).toISOString().slice(0, 10);
  return new Response(toStream(visit, first), {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="rowhouse-activity-${day}.csv"`,
      "cache-control": "no-store",
      "cross-origin-resource-policy": "same-origin",
    },
  });
}

async function readCsvPage(
  { deps, context }: Visit,
  before: number | undefined,
): Promise<AuditEntry[]> {
  const { filter } = readFilter(context.query, undefined);
  const page = { before_id: before, max_rows: CSV_PAGE_ROWS, details_chars: CSV_DETAILS_CHARS };
  return (await readConsole(deps, "list_audit", { ...filter, ...page })).entries;
}

/** Reads a page when the previous page has been sent. A failure aborts the response, so that it never looks complete. */
function toStream(visit: Visit, first: AuditEntry[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let entries = first;
  let head = toCsvHead(auditList.columns);
  return new ReadableStream({
    pull: async (controller) => {
      controller.enqueue(encoder.encode(head + toCsvRows(auditList.columns, entries)));
      head = "";
      if (entries.length < CSV_PAGE_ROWS) return controller.close();
      try {
        entries = await readCsvPage(visit, entries.at(-1)?.id);
      } catch {
        // The next request reports the reason.
        controller.error();
      }
    },
  });
}
