/** @jsxImportSource #html @jsxRuntime automatic */
/** The audit log, newest first, of the service or of one app: filtered, paged, and as CSV. @module */
import { type AuditEntry, auditList } from "../accounts/actions/mod.ts";
import { labelAction } from "../db/mod.ts";
import { readParameters } from "../http/mod.ts";
import type { Html, Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { isObject } from "../std/is_object.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import { type ReadFilter, readFilter, renderFilter } from "./activity_filter.tsx";
import { respondWithAppPage } from "./app_page.tsx";
import type { Visit } from "./enter.tsx";
import { respondWithConsolePage } from "./frame.tsx";
import { makeCsv, readListed } from "./list_csv.ts";
import { renderListTable } from "./list_table.ts";
import { renderAddress, renderEmpty, renderText } from "./parts.tsx";
import { toActivityPath, toAppPath, toPersonPath } from "./paths.ts";
import { renderListLinks, toPage } from "./search.tsx";

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
  const isDisabled = app?.disabledAt !== null;
  return respondWithAppPage({ me, slug, isDisabled, tab: "Activity", body, status });
}

async function readActivity(visit: Visit, app: string | undefined) {
  const { deps, context } = visit;
  const wanted = readFilter(context.query, app);
  const isReadable = wanted.issues.length === 0;
  const page = await readListed(visit, auditList, {
    after: readBefore(context.query),
    ...(!isReadable && { limit: 0 }),
    filter: { ...wanted.filter, details_chars: DETAILS_CHARS },
  });
  const body = [
    renderFilter(wanted, app),
    isReadable && renderPage(page, wanted, { app, now: deps.now() }),
  ];
  return { page, body, status: isReadable ? 200 : 422 };
}

function readBefore(query: string): string {
  const before = new Map(readParameters(query)).get("before") ?? "";
  return /^\d{1,15}$/.test(before) ? before : "";
}

function renderPage(
  { entries }: { entries: readonly AuditEntry[] },
  { typed }: ReadFilter,
  { app, now }: { app: string | undefined; now: number },
): Part {
  const { page, last } = toPage(entries);
  if (page.length === 0) return renderEmpty("No matching activity.");
  return [
    renderEntries(page, { now, hasApp: app === undefined }),
    renderListLinks({
      path: toActivityPath(app),
      query: app === undefined ? typed : { ...typed, app: "" },
      next: last && { before: String(last.id) },
      name: "Older",
    }),
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
      actor: (entry) => (
        <div class="event">
          {renderEvent(entry, hasApp)}
          {entry.client !== null && <span class="row-detail">from {renderText(entry.client)}</span>}
          {renderDetails(entry.details)}
        </div>
      ),
      action: ({ action }) => <code class="action-name">{action}</code>,
    },
  });
}

/** A sentence with actor, action, person and app. */
function renderEvent(entry: AuditEntry, hasApp: boolean): Html {
  const { actor, actorEmail, action, userId, email, appExists } = entry;
  const who = actorEmail === null ? renderText(actor) : renderPerson(actor, actorEmail);
  const app = hasApp ? entry.app : null;
  const person = userId === actor ? null : userId;
  return (
    <p>
      {who} {labelAction(action)}
      {(person !== null || app !== null) && ": "}
      {renderPerson(person, email)}
      {person !== null && app !== null && " on "}
      {app !== null && (appExists ? <a href={toAppPath(app)}>{app}</a> : app)}
    </p>
  );
}

/** A deleted person has only an id. */
function renderPerson(id: string | null, email: string | null): Part {
  if (id === null) return "";
  return email === null ? renderText(id) : <a href={toPersonPath(id)}>{renderAddress(email)}</a>;
}

const SHORT_CHARS = 160;

/** A summary of the details, which expands to the full JSON. */
function renderDetails(details: string): Part {
  if (details === "{}") return "";
  const summary = toSummary(details);
  const short = summary.length > SHORT_CHARS ? `${summary.slice(0, SHORT_CHARS)}…` : summary;
  return (
    <details>
      <summary>
        <bdi>{short}</bdi>
      </summary>
      <pre class="list-details" tabindex="0">
        <code>
          <bdi>{details}</bdi>
        </code>
      </pre>
    </details>
  );
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

/** Max characters of a spreadsheet cell. */
const CSV_DETAILS_CHARS = 32_000;

/** @throws {Problem} invalid_query — with every issue of the filter */
export const activityCsv = makeCsv(auditList, ({ context }) => {
  const { filter, issues } = readFilter(context.query, context.params["app"]);
  if (issues.length > 0) throw new Problem("invalid_query", { message: issues.join("; ") });
  return { ...filter, details_chars: CSV_DETAILS_CHARS };
});
