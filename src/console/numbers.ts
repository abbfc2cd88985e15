/** Numbers of requests as people read them: how many a second, what share failed, how long the slowest took. @module */
import type { Numbers, Span } from "../accounts/console/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { estimateLatency, LATENCY_BOUNDS_MS } from "../std/latency.ts";
import { renderBars, renderLine, toFewer } from "./chart.ts";
import { toRequestsPath } from "./requests_filter.ts";

/** How many steps a span has and how long each is, as in `rowhouse.span_of`. */
const STEPS: Readonly<Record<Span, { steps: number; stepS: number }>> = {
  hour: { steps: 60, stepS: 60 },
  day: { steps: 24, stepS: 3600 },
  week: { steps: 56, stepS: 10_800 },
};
const POINTS = 60;
const POINTS_IN_LIST = 30;

const LATENCY_WORDS = `Durations from up to ${LATENCY_BOUNDS_MS[0]} ms to more than ${(LATENCY_BOUNDS_MS.at(-1) ?? 0) / 1000} s`;

/** Requests, errors, durations and refusals of a span, side by side. */
export function renderStats(numbers: Numbers, span: Span): Html {
  const { requests, errors, refusals, latencies } = numbers;
  const series = toSeries(numbers, span, POINTS);
  return html`<dl class="stats">
${renderStat("Requests / s", toRate(requests, span), { note: `${toCount(requests)} in all`, chart: renderLine(series.requests) })}
${renderStat("Errors", toShare(errors, requests), { note: `${toCount(errors)} responses 5xx`, isBad: errors > 0, chart: renderLine(series.errors), path: toRequestsPath({ kind: "failed" }) })}
${renderStat("p99", toDuration(latencies, 0.99), { note: `half within ${toDuration(latencies, 0.5)}`, chart: html`<span class="visually-hidden">${LATENCY_WORDS}</span>${renderBars(latencies)}`, path: toRequestsPath({ kind: "slow" }) })}
${renderStat("Rejected", toShare(refusals, requests), { note: `${toCount(refusals)} responses 4xx`, chart: renderLine(series.refusals), path: toRequestsPath({ kind: "rejected" }) })}
</dl>`;
}

function renderStat(
  name: string,
  value: string,
  {
    note,
    chart,
    isBad = false,
    path,
  }: { note: string; chart: Part; isBad?: boolean; path?: string },
): Html {
  const title = path === undefined ? name : html`<a class="stat-link" href="${path}">${name}</a>`;
  return html`<div class="stat${isBad && " stat-bad"}"><dt>${title}</dt><dd class="stat-value${isBad && " bad"}">${value}</dd><dd class="stat-note">${note}</dd><dd class="stat-chart">${chart}</dd></div>`;
}

/** An app's last hour and day, side by side; nothing where it had no request in either. */
export function renderAppNumbers(
  slug: string,
  { hour, day }: Record<"hour" | "day", Numbers>,
): Part {
  if (day.requests === 0 && hour.requests === 0) return undefined;
  const isBad = hour.errors > 0;
  const ofDay = (text: string) => `${text} in the last day`;
  const series = toSeries(hour, "hour", POINTS);
  return html`<section aria-label="The last hour"><dl class="stats">
${renderStat("Requests / s", toRate(hour.requests, "hour"), { note: ofDay(toRate(day.requests, "day")), chart: renderLine(series.requests) })}
${renderStat("Errors", toCount(hour.errors), { note: ofDay(toCount(day.errors)), isBad, chart: renderLine(series.errors), path: toRequestsPath({ app: slug, kind: "failed" }) })}
${renderStat("p99", toDuration(hour.latencies, 0.99), { note: ofDay(toDuration(day.latencies, 0.99)), chart: renderBars(hour.latencies), path: toRequestsPath({ app: slug, kind: "slow" }) })}
${renderStat("Rejected", toShare(hour.refusals, hour.requests), { note: ofDay(toShare(day.refusals, day.requests)), chart: renderLine(series.refusals), path: toRequestsPath({ app: slug, kind: "rejected" }) })}
</dl>
<p class="quiet">In the last hour.</p></section>`;
}

/** The cells of a list: a small chart, requests a second, errors, the slowest. */
export function renderNumberCells(numbers: Numbers, span: Span): Part[] {
  const { requests, errors, latencies } = numbers;
  if (requests === 0)
    return [
      html`<span class="quiet no-numbers">no requests</span>`,
      renderNothing(),
      renderNothing(),
      renderNothing(),
    ];
  const series = toSeries(numbers, span, POINTS_IN_LIST);
  return [
    renderLine(series.requests, series.errors),
    html`<span title="${toCount(requests)} in all">${toRate(requests, span)}</span>`,
    errors > 0 ? html`<b class="bad">${toCount(errors)}</b>` : "0",
    toDuration(latencies, 0.99),
  ];
}

function renderNothing(): Html {
  return html`<span class="quiet">–</span>`;
}

function toSeries({ counted }: Numbers, span: Span, points: number) {
  const spread = (place: 1 | 2 | 3) => {
    const counts = Array<number>(STEPS[span].steps).fill(0);
    for (const step of counted) if (step[0] < counts.length) counts[step[0]] = step[place];
    return toFewer(counts, points);
  };
  return { requests: spread(1), errors: spread(2), refusals: spread(3) };
}

function toCount(count: number): string {
  return count.toLocaleString("en");
}

function toRate(requests: number, span: Span): string {
  const { steps, stepS } = STEPS[span];
  const rate = requests / (steps * stepS);
  if (requests === 0) return "0";
  if (rate < 0.01) return "< 0.01";
  if (rate < 10) return rate.toFixed(rate < 1 ? 2 : 1);
  return toCount(Math.round(rate));
}

function toShare(count: number, all: number): string {
  if (all === 0) return "–";
  if (count === 0) return "0 %";
  const percent = (100 * count) / all;
  if (percent < 0.01) return "< 0.01 %";
  return `${percent.toFixed(percent < 1 ? 2 : 1)} %`;
}

/** How long a share of all took at most. */
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
