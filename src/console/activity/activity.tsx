/** @jsxImportSource #html @jsxRuntime automatic */
/** The audit log, newest first, of the service or of one app: filtered, paged, and as CSV. @module */

import { AUDIT_ACTIONS } from "../../db/mod.ts";
import { readParameters } from "../../http/mod.ts";
import type { Html, Part } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { type AuditEntry, auditList } from "../../records/actions/mod.ts";
import { respondWithAppPage } from "../app_page.tsx";
import type { Visit } from "../enter.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import { makeCsv, readListed, renderListLinks, toPage } from "../list.tsx";
import { renderEmpty, renderError, renderLink, renderTextField } from "../parts.tsx";
import { toActivityPath } from "../paths.ts";
import { renderEntries } from "./entries.tsx";

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
        lookup: "People",
      })}
      {renderActions(typed.action)}
      {app === undefined &&
        renderTextField({
          name: "app",
          label: "App",
          hint: "app name",
          value: typed.app,
          lookup: "Apps",
          maxLength: MAX_CHARS,
        })}
      {renderTextField({
        name: "person",
        label: "Target",
        hint: "address or id",
        value: typed.person,
        maxLength: MAX_CHARS,
        lookup: "People",
      })}
      {renderDay("from", "From", typed.from)}
      {renderDay("to", "To", typed.to)}
      <div class="filter-buttons">
        <button class="button button-primary" type="submit">
          Filter
        </button>
        {renderLink("Clear", path)}
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
  return respondWithAppPage({ visit, me, isDisabled, tab: "Activity", body, status });
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

/** Max characters of a spreadsheet cell. */
const CSV_DETAILS_CHARS = 32_000;

/** @throws {Problem} invalid_query — with every issue of the filter */
export const activityCsv = makeCsv(auditList, ({ context }) => {
  const { filter, issues } = readFilter(context.query, context.params["app"]);
  if (issues.length > 0) throw new Problem("invalid_query", { message: issues.join("; ") });
  return { ...filter, details_chars: CSV_DETAILS_CHARS };
});
