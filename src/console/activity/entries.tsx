/** @jsxImportSource #html @jsxRuntime automatic */
/** Entries of the audit log: a table per day, a sentence with the fact per entry, and repeated entries as one. @module */

import { labelAction } from "../../db/mod.ts";
import type { Html, Part } from "../../pages/mod.ts";
import { type AuditEntry, auditList } from "../../records/actions/mod.ts";
import { isObject, tryParseJson } from "../../std/json.ts";
import { renderListTable } from "../list.tsx";
import { renderAddress, renderText, renderTime } from "../parts.tsx";
import { toAppPath, toPersonPath } from "../paths.ts";

type Shown = { now: number; hasApp: boolean };

export function renderEntries(entries: readonly AuditEntry[], shown: Shown): Part {
  const days = Map.groupBy(entries, ({ at }) => toDay(at));
  return [...days].map(([day, ofDay]) => [<h2>{day}</h2>, renderDay(day, ofDay, shown)]);
}

const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeZone: "UTC" });

/** In UTC, like the filter. */
function toDay(at: string): string {
  return DAY.format(new Date(at));
}

/** What people and programs do often, and changes nothing. */
const NOISE: ReadonlySet<string> = new Set([
  ...["open_app", "open_rows", "sign_in", "sign_in_failed", "sign_in_rejected"],
  ...["sign_in_throttled", "sign_out", "console_rejected", "claims_withheld"],
]);

/** The entries without noise, each with the equal entries just before it. */
function fold(entries: readonly AuditEntry[]): Map<AuditEntry, AuditEntry[]> {
  const folded = new Map<AuditEntry, AuditEntry[]>();
  let last: AuditEntry | undefined;
  for (const entry of entries) {
    const repeats = last === undefined || !isRepeat(last, entry) ? undefined : folded.get(last);
    repeats?.push(entry);
    if (repeats !== undefined) continue;
    folded.set(entry, []);
    last = entry;
  }
  return folded;
}

function isRepeat(last: AuditEntry, entry: AuditEntry): boolean {
  const names = ["action", "actor", "app", "userId", "client"] as const;
  return NOISE.has(entry.action) && names.every((name) => last[name] === entry[name]);
}

function renderDay(day: string, entries: readonly AuditEntry[], { now, hasApp }: Shown): Html {
  const folded = fold(entries);
  return renderListTable(auditList, [...folded.keys()], {
    label: `Activity on ${day}`,
    now,
    omitted: ["action"],
    cells: {
      actor: (entry) => (
        <div class="event">
          {renderEvent(entry, hasApp)}
          {entry.client !== null && <span class="row-detail">from {renderText(entry.client)}</span>}
          {renderDetails(entry)}
          {renderRepeats(folded.get(entry) ?? [], now)}
        </div>
      ),
    },
  });
}

function renderRepeats(repeats: readonly AuditEntry[], now: number): Part {
  const count = repeats.length;
  if (count === 0) return "";
  return (
    <details>
      <summary>
        and {count} {count === 1 ? "time" : "times"} before
      </summary>
      <ul class="plain">
        {repeats.map(({ at, details }) => (
          <li>
            {renderTime(at, now)} {details !== "{}" && renderText(toShortSummary(details))}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** A sentence with actor, action, person, app and fact. */
function renderEvent(entry: AuditEntry, hasApp: boolean): Html {
  const { actor, actorEmail, action, userId, email, appExists } = entry;
  const who = actorEmail === null ? renderText(actor) : renderPerson(actor, actorEmail);
  const app = hasApp ? entry.app : null;
  const person = userId === actor ? null : userId;
  const fact = toFact(entry);
  const hasTarget = person !== null || app !== null;
  return (
    <p>
      {who} {labelAction(action)}
      {hasTarget && ": "}
      {renderPerson(person, email)}
      {person !== null && app !== null && " on "}
      {app !== null && (appExists ? <a href={toAppPath(app)}>{app}</a> : app)}
      {fact !== undefined && [hasTarget ? ", " : ": ", renderText(fact)]}
    </p>
  );
}

/** What an entry changed, from its details; `undefined` if they have no such fact. */
function toFact({
  action,
  app,
  details,
}: Pick<AuditEntry, "action" | "app" | "details">): string | undefined {
  const parsed = tryParseJson(details);
  if (!isObject(parsed)) return undefined;
  const { role, before, after, from, keyId, name } = parsed;
  if (typeof role === "string")
    return before === undefined ? `role ${role}` : `role ${toChange(before, role)}`;
  if (action === "rename_app" && app !== null) return toChange(from, app);
  if (isObject(before) && isObject(after)) {
    const changed = Object.keys(after).filter((field) => before[field] !== after[field]);
    const facts = changed.map(
      (field) => `${toLabel(field)} ${toChange(before[field], after[field], "default")}`,
    );
    return facts.length === 0 ? "without a difference" : facts.join(", ");
  }
  if (before !== undefined && after !== undefined) return toChange(before, after);
  // The key of a reader of rows is of no use to anyone.
  if (typeof keyId !== "string" || NOISE.has(action)) return undefined;
  return typeof name === "string" && name !== "" ? name : keyId;
}

/** `perMinuteOfKey` as words. */
function toLabel(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function toChange(before: unknown, after: unknown, absent = "none"): string {
  const [was, is] = [before, after].map((value) => (value === null ? absent : toShort(value)));
  return was === is ? String(is) : `from ${was} to ${is}`;
}

/** A deleted person has only an id. */
function renderPerson(id: string | null, email: string | null): Part {
  if (id === null) return "";
  return email === null ? renderText(id) : <a href={toPersonPath(id)}>{renderAddress(email)}</a>;
}

const SHORT_CHARS = 160;

/** A summary of the details, which expands to the full JSON. */
function renderDetails(entry: AuditEntry): Part {
  const { details } = entry;
  if (details === "{}") return "";
  const isKnown = toFact(entry) !== undefined || NOISE.has(entry.action);
  return (
    <details>
      <summary>{isKnown ? "Details" : renderText(toShortSummary(details))}</summary>
      <pre class="list-details" tabindex="0">
        <code>
          <bdi>{details}</bdi>
        </code>
      </pre>
    </details>
  );
}

function toShortSummary(details: string): string {
  const summary = toSummary(details);
  return summary.length > SHORT_CHARS ? `${summary.slice(0, SHORT_CHARS)}…` : summary;
}

/** The details without JSON punctuation; truncated JSON stays unchanged. */
function toSummary(details: string): string {
  const parsed = tryParseJson(details);
  if (!isObject(parsed)) return details;
  return Object.entries(parsed)
    .map(([name, value]) => `${toLabel(name)}: ${value === null ? "none" : toShort(value)}`)
    .join(", ");
}

function toShort(value: unknown): string {
  const isList = Array.isArray(value) && value.every((item) => typeof item === "string");
  if (isList && value.length > 0) return value.join(" ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
