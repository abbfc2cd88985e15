/** @jsxImportSource #html @jsxRuntime automatic */
/** A selected period: increased errors by table, key and field, and the changes just before. @module */

import { readParameters } from "../../http/mod.ts";
import type { Html, Part } from "../../pages/mod.ts";
import { isProblemCode, PROBLEMS } from "../../problem.ts";
import {
  type ChangesView,
  type PushedDefinition,
  type RisenCode,
  readConsole,
} from "../../records/console/mod.ts";
import { inDigits } from "../../std/count.ts";
import { SLUG_PATTERN } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import { MIN_REQUESTS, renderChange, toPushNumber } from "../form_page.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import { showRequests } from "../numbers.tsx";
import { renderEmpty, renderLink, renderText, renderTextField } from "../parts.tsx";
import { CHANGES, toAppPath, toChangesPath, toPushPath } from "../paths.ts";
import { toRequestsPath } from "../requests_filter.tsx";
import { renderMoment, toMinuteText } from "./axis.tsx";
import { findRestriction } from "./definition_changes.ts";

const MAX_LISTED = 50;

export async function handleChanges({ deps, context }: Visit): Promise<Response> {
  const asked = readAsked(context.query, deps.now());
  const { slug, from, until, unit } = asked;
  const page = await readConsole(deps, "show_changes", {
    app_slug: slug,
    unit,
    from_at: from,
    until_at: until,
    max_rows: MAX_LISTED,
  });
  return respondWithConsolePage({
    me: page.me,
    entry: slug === "" ? "Home" : "Apps",
    title: "What changed",
    crumbs: slug === "" ? [] : [{ name: slug, path: toAppPath(slug) }],
    body: [
      renderForm(asked),
      <p>{toComparison(page)}</p>,
      <h2>Increased errors</h2>,
      renderCodes(page, asked),
      <h2>Changes before and during this period</h2>,
      renderChangeList(page, { hasApp: slug === "", now: deps.now() }),
    ],
  });
}

type Asked = { slug: string; from: Date; until: Date; unit: "minute" | "hour" };

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Longer periods use hourly steps. */
const MAX_BY_MINUTE_MS = 3 * HOUR_MS;
/** Minutes are stored for a day, which must also cover the previous period. */
const MINUTES_BACK_MS = 20 * HOUR_MS;
const MAX_MS = 7 * 24 * HOUR_MS;

/** The requested period: min one unit, max a week. Invalid input means the last hour. */
function readAsked(query: string, now: number): Asked {
  const given = new Map(readParameters(query));
  const app = (given.get("app") ?? "").trim();
  const typedUntil = readMoment(given.get("to")) ?? now;
  const until = Math.min(typedUntil, now + HOUR_MS);
  const from = Math.min(readMoment(given.get("from")) ?? until - HOUR_MS, until - MINUTE_MS);
  const isByMinute = until - from <= MAX_BY_MINUTE_MS && from > now - MINUTES_BACK_MS;
  const unitMs = isByMinute ? MINUTE_MS : HOUR_MS;
  const end = Math.ceil(until / unitMs) * unitMs;
  const begin = Math.max(Math.floor(from / unitMs) * unitMs, end - MAX_MS);
  return {
    slug: new RegExp(SLUG_PATTERN).test(app) ? app : "",
    from: new Date(begin),
    until: new Date(end),
    unit: isByMinute ? "minute" : "hour",
  };
}

/** In UTC, with or without `Z`: datetime-local fields send no zone. */
function readMoment(text = ""): number | undefined {
  if (!/^[12]\d{3}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?Z?$/.test(text)) return undefined;
  const ms = new Date(text.endsWith("Z") ? text : `${text}Z`).getTime();
  return Number.isNaN(ms) ? undefined : ms;
}

function renderForm({ slug, from, until }: Asked): Html {
  const length = until.getTime() - from.getTime();
  const move = (by: number) => {
    const [begin, end] = [from.getTime() + by, until.getTime() + by];
    return toChangesPath({ app: slug, from: toMinuteText(begin), to: toMinuteText(end) });
  };
  return (
    <form class="axis-select" method="get" action={CHANGES} aria-label="Select a period">
      {renderTextField({ name: "app", label: "App", value: slug, maxLength: 40 })}
      {renderMoment("from", "From (UTC)", from.toISOString())}
      {renderMoment("to", "To (UTC)", until.toISOString())}
      <div class="filter-buttons">
        <button class="button button-primary" type="submit">
          Show
        </button>
        {renderLink("Earlier", move(-length))}
        {renderLink("Later", move(length))}
      </div>
    </form>
  );
}

function toComparison({ requests, requestsBefore }: ChangesView): string {
  const text = `${showRequests(requests)}, ${inDigits(requestsBefore)} in the previous period of the same length`;
  const isFew = requests < MIN_REQUESTS || requestsBefore < MIN_REQUESTS;
  return isFew ? `${text}: too few requests to compare.` : `${text}.`;
}

function renderCodes(page: ChangesView, asked: Asked): Part {
  if (page.codes.length === 0) return renderEmpty("No rejected requests in this period.");
  return (
    <ul class="risen">
      {page.codes.map((code) => (
        <li>{renderCode(code, page, asked)}</li>
      ))}
    </ul>
  );
}

function renderCode(risen: RisenCode, page: ChangesView, asked: Asked): Part {
  const { app, table, code, now, before, fields, keys } = risen;
  const filter = {
    ...{ app: app ?? "", kind: "rejected", code, table: table ?? "" },
    ...{ from: toMinuteText(asked.from.getTime()), to: toMinuteText(asked.until.getTime()) },
  };
  return [
    <p>
      <b>
        {inDigits(now)} × {toStatus(code)}
      </b>{" "}
      <a href={toRequestsPath(filter)}>
        <code>{code}</code>
      </a>
      {table !== null && (
        <>
          {" "}
          on <code>{renderText(table)}</code>
        </>
      )}
      {asked.slug === "" && app !== null && (
        <>
          {" "}
          of <a href={toAppPath(app)}>{app}</a>
        </>
      )}{" "}
      <span class="quiet">({inDigits(before)} before)</span>
    </p>,
    fields.length > 0 && (
      <ul>
        {fields.map(({ field, requests, since }) => (
          <li>
            {inDigits(requests)} × {toStatus(code)} on{" "}
            <a href={toRequestsPath({ ...filter, field })}>
              <code>/{renderText(field)}</code>
            </a>
            {renderSincePush(
              page.pushes.filter(
                (push) => push.app === app && Date.parse(push.at) <= Date.parse(since),
              ),
              { table, field },
            )}
          </li>
        ))}
      </ul>
    ),
    keys.length > 0 && (
      <p class="quiet">
        {keys.map(({ keyId, name, requests }, index) => (
          <>
            {index > 0 && ", "}
            {inDigits(requests)} by key{" "}
            <a href={toRequestsPath({ ...filter, key: keyId })}>
              <code>{keyId}</code>
            </a>
            {name !== null && name !== "" && <> {renderText(name)}</>}
          </>
        ))}
      </p>
    ),
  ];
}

function toStatus(code: string): string {
  if (isProblemCode(code)) return String(PROBLEMS[code].status);
  return /^4\d\d$/.test(code) ? code : "4xx";
}

/** The latest of these pushes that can have caused errors of the field. They are of its app, and before its first error. */
export function renderSincePush(
  pushes: readonly PushedDefinition[],
  { table, field }: { table: string | null; field: string },
): Part {
  const found = table === null ? undefined : findRestrictingPush(pushes, { table, field });
  if (found === undefined) return undefined;
  return (
    <>
      {" "}
      since push {toPushNumber(found.seq)} {found.text};{" "}
      <a href={toPushPath(found.app, found.seq)}>see the diff</a>
    </>
  );
}

function renderChangeList(
  { changes }: ChangesView,
  options: { hasApp: boolean; now: number },
): Part {
  if (changes.length === 0) return renderEmpty("Nothing changed.");
  return (
    <ul class="axis-changes">
      {changes.map((change) => (
        <li>{renderChange(change, options)}</li>
      ))}
    </ul>
  );
}

/** The first of these pushes after which values of a column can be rejected that were valid before. */
function findRestrictingPush(
  pushes: readonly PushedDefinition[],
  column: { table: string; field: string },
): { app: string; seq: number; text: string } | undefined {
  for (const push of pushes) {
    const text = findRestriction(push, column);
    if (text !== undefined) return { app: push.app, seq: push.seq, text };
  }
  return undefined;
}
