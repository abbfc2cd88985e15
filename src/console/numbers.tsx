/** @jsxImportSource #html @jsxRuntime automatic */
/** Statistics of requests as text: the rate, the share of failures, and the p99. @module */

import { readParameters } from "../http/mod.ts";
import { CONSOLE_PATH } from "../identity/mod.ts";
import type { Html, Part } from "../pages/mod.ts";
import {
  type Axis,
  type ConsoleHome,
  type Numbers,
  type RequestKind,
  SPANS,
  type Span,
} from "../records/console/mod.ts";
import { inDigits } from "../std/count.ts";
import { estimateLatency, estimateSum, LATENCY_BOUNDS_MS } from "../std/latency.ts";
import { MIN_REQUESTS, toTotals } from "./form_page.tsx";
import { renderAppName, renderTable, renderText, renderTime } from "./parts.tsx";
import { APPS } from "./paths.ts";
import { toRequestsPath } from "./requests_filter.tsx";

// Small charts without an axis, drawn by the server, next to the same numbers as text.

const WIDTH = 100;
const HEIGHT = 28;
/** Space for the line's width at the edges. */
const INSET = 2;

/** A line of counts over time, with marks at failures. */
function renderLine(counts: readonly number[], marks: readonly number[] = []): Html {
  const maxCount = Math.max(...counts, 1);
  const toX = (index: number) => round((index * WIDTH) / Math.max(counts.length - 1, 1));
  const toY = (count: number) => round(HEIGHT - INSET - (count / maxCount) * (HEIGHT - 2 * INSET));
  const line = counts.map((count, index) => `${toX(index)},${toY(count)}`).join(" ");
  const bad = marks
    .flatMap((count, index) => (count > 0 ? [`M${toX(index)} ${HEIGHT}v-6`] : []))
    .join("");
  return (
    <svg
      class="chart"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <path class="chart-area" d={`M0,${HEIGHT} L${line} L${WIDTH},${HEIGHT}Z`} />
      <polyline class="chart-line" points={line} />
      {bad !== "" && <path class="chart-bad" d={bad} />}
    </svg>
  );
}

/** Sums of adjacent counts, max `maxCount` values. */
function toFewer(counts: readonly number[], maxCount: number): number[] {
  const size = Math.ceil(counts.length / maxCount);
  const groups = Array.from({ length: Math.ceil(counts.length / size) }, (_, index) =>
    counts.slice(index * size, (index + 1) * size),
  );
  return groups.map((group) => group.reduce((sum, count) => sum + count, 0));
}

export function round(number: number): number {
  return Math.round(number * 10) / 10;
}

/** The number and length of the steps of a span, as in `rowhouse.span_of`. */
const STEPS: Readonly<Record<Span, { steps: number; stepS: number }>> = {
  hour: { steps: 60, stepS: 60 },
  day: { steps: 24, stepS: 3600 },
  week: { steps: 56, stepS: 10_800 },
};
const POINTS_IN_LIST = 30;

/** Requests, errors, durations and rejections of a span and of the previous span. Each number links to its requests. */
export function renderStats(
  axis: Axis,
  { span, slug, now }: { span: Span; slug: string; now: number },
): Html {
  const totals = toTotals(axis);
  const { requests, errors, rejections, latencies } = totals.now;
  const elapsedS = Math.max((now - new Date(axis.since).getTime()) / 1000, 1);
  const from = `${axis.since.slice(0, 16)}Z`;
  const to = (kind: RequestKind) => toRequestsPath({ app: slug, kind, from });
  const before = `the previous ${span}`;
  const isFew = requests < MIN_REQUESTS;
  const compare = (text: string) =>
    isFew || totals.before.requests < MIN_REQUESTS ? "" : `, ${text} ${before}`;
  const shareBefore = (count: number) => compare(toShare(count, totals.before.requests));
  const change = toChange(requests / elapsedS, totals.before.requests / (axis.steps * axis.stepS));
  const toValue = (count: number) => (isFew ? inDigits(count) : toShare(count, requests));
  const few = isFew ? "too few requests for a share" : "";
  return (
    <dl class="stats">
      {renderStat("Requests / s", toRate(requests, span), {
        detail: `${inDigits(requests)} total${compare(`${change} from`)}`,
      })}
      {renderStat("Errors", toValue(errors), {
        detail: few || `${inDigits(errors)} failed${shareBefore(totals.before.errors)}`,
        isBad: errors > 0,
        path: to("failed"),
      })}
      {renderStat("p99", isFew ? "–" : toDuration(latencies, 0.99), {
        detail: isFew
          ? "too few requests"
          : `median ${toDuration(latencies, 0.5)}${compare(toDuration(totals.before.latencies, 0.99))}`,
        path: to("slow"),
      })}
      {renderStat("Rejected", toValue(rejections), {
        detail: few || `${inDigits(rejections)} responses${shareBefore(totals.before.rejections)}`,
        path: to("rejected"),
      })}
    </dl>
  );
}

/** The change in percent. */
function toChange(now: number, before: number): string {
  const percent = Math.round((100 * (now - before)) / before);
  return `${percent < 0 ? "−" : "+"}${inDigits(Math.abs(percent))}%`;
}

const SPAN_LABELS: Readonly<Record<Span, string>> = {
  hour: "Last hour",
  day: "Last day",
  week: "Last week",
};

export function readSpan(query: string): Span {
  const wanted = new Map(readParameters(query)).get("span");
  return SPANS.find((span) => span === wanted) ?? "hour";
}

export function renderSpans(current: Span, path: string): Html {
  return (
    <nav class="spans" aria-label="Period">
      {SPANS.map((span) => (
        <a
          href={`${path}${span === "hour" ? "" : `?span=${span}`}`}
          aria-current={span === current && "true"}
        >
          {SPAN_LABELS[span]}
        </a>
      ))}
    </nav>
  );
}

function renderStat(
  name: string,
  value: string,
  { detail, isBad = false, path }: { detail: string; isBad?: boolean; path?: string },
): Html {
  const title =
    path === undefined ? (
      name
    ) : (
      <a class="stat-link" href={path}>
        {name}
      </a>
    );
  return (
    <div class="stat">
      <dt>{title}</dt>
      <dd class={`stat-value${isBad ? " bad" : ""}`}>{value}</dd>
      <dd class="stat-detail">{detail}</dd>
    </div>
  );
}

/** The cells of a list: a small chart, requests per second, errors, rejections, the p99 and the time of all. */
function renderNumberCells(numbers: Numbers, span: Span): Part[] {
  const { requests, errors, rejections, latencies } = numbers;
  if (requests === 0)
    return [<span class="quiet no-numbers">no requests</span>, ...Array<Part>(5).fill("")];
  const series = toSeries(numbers, span, POINTS_IN_LIST);
  return [
    renderLine(series.requests, series.errors),
    <span title={`${inDigits(requests)} total`}>{toRate(requests, span)}</span>,
    errors > 0 ? <b class="bad">{inDigits(errors)}</b> : "0",
    <span title={`${inDigits(rejections)} rejected`}>{toShare(rejections, requests)}</span>,
    requests < MIN_REQUESTS ? (
      <span class="quiet" title="too few requests">
        –
      </span>
    ) : (
      toDuration(latencies, 0.99)
    ),
    <span title="The durations of all requests together, estimated">
      {toSum(estimateSum(latencies))}
    </span>,
  ];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

function toSum(ms: number): string {
  if (ms < MINUTE_MS) return toMs(ms);
  return ms < 2 * HOUR_MS
    ? `${Math.round(ms / MINUTE_MS)} min`
    : `${inDigits(Math.round(ms / HOUR_MS))} h`;
}

function toSeries({ counted }: Numbers, span: Span, points: number) {
  const spread = (position: 1 | 2) => {
    const counts = Array<number>(STEPS[span].steps).fill(0);
    for (const step of counted) if (step[0] < counts.length) counts[step[0]] = step[position];
    return toFewer(counts, points);
  };
  return { requests: spread(1), errors: spread(2) };
}

export function showRequests(count: number): string {
  return `${inDigits(count)} ${count === 1 ? "request" : "requests"}`;
}

function toRate(requests: number, span: Span): string {
  const { steps, stepS } = STEPS[span];
  const rate = requests / (steps * stepS);
  if (requests === 0) return "0";
  if (rate < 0.01) return "< 0.01";
  if (rate < 10) return rate.toFixed(rate < 1 ? 2 : 1);
  return inDigits(Math.round(rate));
}

function toShare(count: number, all: number): string {
  if (all === 0) return "–";
  if (count === 0) return "0%";
  const percent = (100 * count) / all;
  if (percent < 0.01) return "< 0.01%";
  return `${percent.toFixed(percent < 1 ? 2 : 1)}%`;
}

/** A percentile of the durations. */
function toDuration(latencies: readonly number[], share: number): string {
  const ms = estimateLatency(latencies, share);
  if (ms === undefined) return "–";
  if (ms === Number.POSITIVE_INFINITY) return `> ${(LATENCY_BOUNDS_MS.at(-1) ?? 0) / 1000} s`;
  return toMs(ms);
}

export function toMs(ms: number): string {
  if (ms < 1) return "< 1 ms";
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

type HomeApp = ConsoleHome["apps"][number];

/** The columns that sort the apps of Home, each with what it compares: the largest comes first, names by the alphabet. */
const APP_SORTS = {
  app: ({ slug }) => slug,
  requests: ({ numbers }) => numbers.requests,
  errors: ({ numbers }) => numbers.errors,
  rejected: ({ numbers: { rejections, requests } }) => rejections / Math.max(requests, 1),
  p99: ({ numbers }) => estimateLatency(numbers.latencies, 0.99) ?? 0,
  time: ({ numbers }) => estimateSum(numbers.latencies),
  pushed: ({ pushedAt }) => (pushedAt === null ? 0 : new Date(pushedAt).getTime()),
} satisfies Readonly<Record<string, (app: HomeApp) => string | number>>;
type AppSort = keyof typeof APP_SORTS;

/** Without a valid one, apps with errors come first, and then those with the most requests. */
export function readAppSort(query: string): AppSort | undefined {
  const wanted = new Map(readParameters(query)).get("sort");
  return Object.keys(APP_SORTS).find((name): name is AppSort => name === wanted);
}

function sortApps(apps: readonly HomeApp[], sort: AppSort | undefined): readonly HomeApp[] {
  if (sort === undefined) return apps;
  const read: (app: HomeApp) => string | number = APP_SORTS[sort];
  return apps.toSorted((a, b) => {
    const [first, second] = [read(a), read(b)];
    return typeof first === "string"
      ? first.localeCompare(String(second), "en")
      : Number(second) - first;
  });
}

type Shown = { span: Span; sort: AppSort | undefined; now: number };

/** The apps of Home with their numbers, and the requests without an app. */
export function renderAppNumbers(home: ConsoleHome, { span, sort, now }: Shown): Html {
  const { appCount } = home;
  const apps = sortApps(home.apps, sort);
  const sorted = (name: string, by: AppSort, isNumber = true) => {
    const query = new URLSearchParams({ ...(span === "hour" ? {} : { span }), sort: by });
    const order = by === "app" ? ("ascending" as const) : ("descending" as const);
    return {
      ...{ name, isNumber },
      sort: { path: `${CONSOLE_PATH}?${query}`, order: by === sort ? order : undefined },
    };
  };
  const columns = [
    sorted("App", "app", false),
    SPAN_LABELS[span],
    sorted("Requests / s", "requests"),
    sorted("Errors", "errors"),
    sorted("Rejected", "rejected"),
    sorted("p99", "p99"),
    sorted("Time", "time"),
    sorted("Last push", "pushed", false),
  ];
  const rows = apps.map((app): Part[] => [
    <span class="row-title">
      {renderAppName(app.slug, app.disabledAt !== null)}{" "}
      <span class="row-detail">
        {app.origin === null ? "no address yet" : renderText(new URL(app.origin).host)}
      </span>
    </span>,
    ...renderNumberCells(app.numbers, span),
    renderTime(app.pushedAt, now),
  ]);
  const toOther = (name: string, detail: string, numbers: ConsoleHome["ofConsole"]): Part[] => [
    <span class="row-title">
      {name}
      <span class="row-detail">{detail}</span>
    </span>,
    ...renderNumberCells(numbers, span),
    "",
  ];
  const others = [
    toOther("Without an app", "pages; requests without a valid key", home.withoutApp),
    toOther("Console", "its pages and its requests for rows", home.ofConsole),
  ];
  return (
    <>
      {renderTable("Apps", columns, [...rows, ...others])}
      {appCount > apps.length && (
        <p class="quiet">
          The {apps.length} apps with the most errors and requests.{" "}
          <a href={APPS}>All {inDigits(appCount)} apps</a>
        </p>
      )}
    </>
  );
}
