/** @jsxImportSource #html @jsxRuntime automatic */
/** The audit log, newest first, of the service or of one app: filtered, paged, and as CSV. @module */

import { AUDIT_ACTIONS, labelAction } from "../../db/mod.ts";
import { readParameters } from "../../http/mod.ts";
import type { Html, Part } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { type AuditEntry, auditList } from "../../records/actions/mod.ts";
import { isObject, tryParseJson } from "../../std/json.ts";
import { respondWithAppPage } from "../apps/app_page.tsx";
import type { Visit } from "../enter.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import { makeCsv, readListed, renderListLinks, renderListTable, toPage } from "../list.tsx";
import { renderAddress, renderEmpty, renderError, renderText, renderTextField } from "../parts.tsx";
import { toActivityPath, toAppPath, toPersonPath } from "../paths.ts";

// The filter of the audit log: actor, action, app, person and time.

const NAMES = ["actor", "action", "app", "person", "from", "to"] as const;
type Name = (typeof NAMES)[number];
/** The input as typed, for the form and for links. */
type Typed = Record<Name, string>;
type ReadFilter = ReturnType<typeof readFilter>;

/** The input as typed, its issues, and the arguments of `list_audit`. `app` is set on an app's page. */
function readFilter(query: string, app: string | undefined) {
  const given = new Map(readParameters(query));
  const read = (name: Name) =>
    (given.get(name) ?? "").trim().replaceAll("\0", "").slice(0, MAX_CHARS);
  const typed = Object.fromEntries(NAMES.map((name) => [name, read(name)])) as Typed;
  if (app !== undefined) typed.app = app;
  const { actor, action, person, from: typedFrom, to: typedTo } = typed;
  const [from, until] = [readDay(typedFrom, 0), readDay(typedTo, 1)];
  const issues = [
    typedFrom !== "" &&
      from === undefined &&
      `From must be a day, such as 2026-01-31, not ${typedFrom}`,
    typedTo !== "" && until === undefined && `To must be a day, such as 2026-01-31, not ${typedTo}`,
    from !== undefined && until !== undefined && from >= until && "From must not be after To",
  ].filter((issue) => issue !== false);
  const filter = { of_actor: actor, of_action: action, app_slug: typed.app, of_person: person };
  return { typed, filter: { ...filter, from_at: from, before_at: until }, issues };
}

const MAX_CHARS = 254;
const DAY_MS = 86_400_000;

/** The start of the day that is `later` days after a day, in UTC. */
function readDay(text: string, later: number): Date | undefined {
  if (!/^[12]\d{3}-\d{2}-\d{2}$/.test(text)) return undefined;
  const ms = Date.parse(`${text}T00:00:00Z`);
  // Date.parse() turns the 31st of a shorter month into another day.
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(text)) return undefined;
  return new Date(ms + later * DAY_MS);
}

function renderFilter({ typed, issues }: ReadFilter, app: string | undefined): Part {
  const path = toActivityPath(app);
  return [
    issues.length > 0 && renderError("Invalid filter.", issues),
    <form class="filter" method="get" action={path} role="search" aria-label="Filter">
      {renderTextField({
        name: "actor",
        label: "Who",
        hint: "address or “operator”",
        value: typed.actor,
        maxLength: MAX_CHARS,
        isPerson: true,
      })}
      {renderActions(typed.action)}
      {app === undefined &&
        renderTextField({
          name: "app",
          label: "App",
          hint: "app name",
          value: typed.app,
          maxLength: MAX_CHARS,
        })}
      {renderTextField({
        name: "person",
        label: "Target",
        hint: "address or id",
        value: typed.person,
        maxLength: MAX_CHARS,
        isPerson: true,
      })}
      {renderDay("from", "From", typed.from)}
      {renderDay("to", "To", typed.to)}
      <div class="filter-buttons">
        <button class="button button-primary" type="submit">
          Filter
        </button>
        <a class="button button-quiet" href={path}>
          Clear
        </a>
      </div>
    </form>,
  ];
}

function renderActions(chosen: string): Html {
  const known = Object.entries(AUDIT_ACTIONS)
    .map(([value, { label }]) => [value, label] as const)
    .toSorted(([, a], [, b]) => a.localeCompare(b, "en"));
  const other = chosen === "" || chosen in AUDIT_ACTIONS ? {} : { [chosen]: chosen };
  const choices = { "": "any action", ...other, ...Object.fromEntries(known) };
  return renderTextField({ name: "action", label: "Action", choices, value: chosen });
}

function renderDay(name: string, label: string, value: string): Html {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <p class="hint" id={`${name}-hint`}>
        day, in UTC
      </p>
      <input type="date" id={name} name={name} value={value} aria-describedby={`${name}-hint`} />
    </div>
  );
}

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
  return respondWithAppPage({ visit, me, slug, isDisabled, tab: "Activity", body, status });
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
