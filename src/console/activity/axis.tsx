/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * Requests, errors, rejections and p99 on one time axis, with marks at changes. Each step links to its changes. The server draws
 * the axis. Labels are HTML, because the drawing stretches.
 *
 * @module
 */

import type { Html, Part } from "../../pages/mod.ts";
import type { Axis, Span } from "../../records/console/mod.ts";
import { inDigits, showCount } from "../../std/count.ts";
import { HOUR_S } from "../../std/duration.ts";
import { MIN_REQUESTS, renderChange, type Step, toPushNumber, toSteps } from "../form_page.tsx";
import { round, showRequests, toMs } from "../numbers.tsx";
import { CHANGES, toChangesPath } from "../paths.ts";

// The lanes of a time axis as shapes: a line of requests, bars of errors and rejections, a line of
// p99.

/** The height of a lane, and of one without values. */
const LANE = 60;
const FLAT = 20;
const TOP = 6;
/** The pixels of a `rem` at which lanes have these heights. */
const REM = 16;

/** Short enough for the label of a lane: 1.2M. */
const COMPACT = new Intl.NumberFormat("en", { notation: "compact" });

type Lane = { name: string; top: string; isFlat: boolean; shapes: (width: number) => Html };

function toHeight({ isFlat }: Lane): number {
  return isFlat ? FLAT : LANE;
}

function toLanes(steps: readonly Step[]): Lane[] {
  const past = steps.map(({ before }) => before?.requests ?? 0);
  const counts = (read: (step: Step) => number) => steps.map(read);
  const requests = counts((step) => step.requests);
  // Processes report the last step after it ends.
  const known = requests.map((count, index) =>
    count > 0 || index + 1 < steps.length ? count : undefined,
  );
  const [errors, rejections] = [counts((step) => step.errors), counts((step) => step.rejections)];
  const p99 = steps.map((step) => step.p99);
  const maxRequests = Math.max(...requests, ...past, 1);
  const slowest = Math.max(...p99.map((ms) => toFinite(ms) ?? 0));
  return [
    {
      name: "Requests",
      top: COMPACT.format(maxRequests),
      isFlat: false,
      shapes: (width) => (
        <>
          <path
            class="axis-before"
            d={past.some((count) => count > 0) ? toLine(past, maxRequests, width) : ""}
          />
          <path class="axis-line" d={toLine(known, maxRequests, width)} />
        </>
      ),
    },
    toBarLane("Errors", errors, "axis-errors"),
    toBarLane("Rejections", rejections, "axis-rejections"),
    {
      name: "p99",
      top: slowest === 0 ? "–" : toMs(slowest),
      isFlat: slowest === 0,
      shapes: (width) => (
        <path class="axis-line" d={toLine(p99.map(toFinite), slowest || 1, width)} />
      ),
    },
  ];
}

/** Durations beyond the last bucket are drawn at its bound. */
const LAST_BOUND_MS = 2500;

function toFinite(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.min(ms, LAST_BOUND_MS);
}

function toBarLane(name: string, counts: readonly number[], tone: string): Lane {
  const max = Math.max(...counts, 1);
  const isFlat = counts.every((count) => count === 0);
  return {
    ...{ name, isFlat, top: isFlat ? "0" : COMPACT.format(max) },
    shapes: (width) => <path class={tone} d={toBars(counts, max, width)} />,
  };
}

/** A line through the middle of each step, which ends where there is no value. */
function toLine(values: readonly (number | undefined)[], max: number, width: number): string {
  return values
    .map((value, index) => {
      if (value === undefined) return "";
      const begins = values[index - 1] === undefined;
      const [x, y] = [round((index + 0.5) * width), toY(value, max)];
      // A value between two gaps is a point.
      return `${begins ? "M" : "L"}${x} ${y}${begins && values[index + 1] === undefined ? "h0.1" : ""}`;
    })
    .join("");
}

function toBars(counts: readonly number[], max: number, width: number): string {
  return counts
    .map((count, index) =>
      count === 0
        ? ""
        : `M${round(index * width + width * 0.1)} ${LANE}V${Math.min(toY(count, max), LANE - 1.5)}h${round(width * 0.8)}V${LANE}Z`,
    )
    .join("");
}

function toY(value: number, max: number): number {
  return round(LANE - (value / max) * (LANE - TOP));
}

type Drawn = { axis: Axis; span: Span; slug: string; now: number };

/** The axis of an app; if `slug` is empty, of all apps. */
export function renderAxis({ axis, span, slug, now }: Drawn): Html {
  const steps = toSteps(axis);
  const lanes = toLanes(steps);
  const changes = toMarks(axis);
  // Processes have not yet reported the last step.
  const reported = Math.max(
    steps.findLastIndex(({ requests }) => requests > 0),
    0,
  );
  return (
    <section class="sheet axis" aria-label="Over time">
      <p class="axis-readout" data-readout={reported}>
        {toReadout(steps, axis, { index: reported, changes }).replaceAll("\n", " · ")}
      </p>
      <div class="axis-chart">
        {changes.size > 0 && [5, 2].map((count) => renderNames(changes, steps.length, count))}
        <div class="axis-lanes" aria-hidden="true">
          {lanes.map(({ name, top, isFlat }) => (
            <div class={isFlat && "axis-flat"}>
              <b>{name}</b>
              <span>{top}</span>
              {!isFlat && <span>0</span>}
            </div>
          ))}
        </div>
        {renderDrawing({ axis, slug, steps, lanes, changes })}
        <div class="axis-times" aria-hidden="true">
          {toTicks(axis).map((tick) => (
            <span>{toShortTime(tick, span)}</span>
          ))}
        </div>
      </div>
      <p class="quiet axis-caption">{toLegend(steps, span)}</p>
      {renderSelect(axis, slug)}
      {renderChanges(axis, { slug, now })}
    </section>
  );
}

/** Explains only what the drawing has. */
function toLegend(steps: readonly Step[], span: Span): string {
  const parts = [
    "In UTC.",
    hasPast(steps) && `Dashed: requests of the previous ${span}.`,
    steps.some(({ requests, p99 }) => requests > 0 && p99 === undefined) &&
      `p99 is not shown for a step with fewer than ${MIN_REQUESTS} requests.`,
  ];
  return parts.filter((part) => part !== false).join(" ");
}

function hasPast(steps: readonly Step[]): boolean {
  return steps.some(({ before }) => (before?.requests ?? 0) > 0);
}

const WIDTH = 600;

/** The changes of each step, as text. */
function toMarks({ since, stepS, steps, changes }: Axis): Map<number, string[]> {
  const sinceMs = new Date(since).getTime();
  const marks = new Map<number, string[]>();
  for (const change of changes) {
    const index = Math.floor((new Date(change.at).getTime() - sinceMs) / (stepS * 1000));
    if (index < 0 || index >= steps + 1) continue;
    const step = Math.min(index, steps - 1);
    marks.set(step, [...(marks.get(step) ?? []), toMarkText(change)]);
  }
  return marks;
}

function toMarkText({ action, app, seq }: Axis["changes"][number]): string {
  const what = seq === null ? action.replaceAll("_", " ") : `push ${toPushNumber(seq)}`;
  return app === null ? what : `${what} of ${app}`;
}

/** Max characters of a name next to a mark. */
const NAME_CHARS = 16;

/**
 * The names of the marks, or their number where names would overlap: `count` names fit next to each other. The scale does
 * not stretch this drawing.
 */
function renderNames(changes: Drawing["changes"], steps: number, count: number): Html {
  const width = 1 / count;
  const groups: { left: number; center: number; names: string[] }[] = [];
  for (const [index, names] of [...changes].toSorted(([a], [b]) => a - b)) {
    const center = (index + 0.5) / steps;
    const left = Math.min(Math.max(center - width / 2, 0), 1 - width);
    const last = groups.at(-1);
    if (last !== undefined && left < last.left + width) last.names.push(...names);
    else groups.push({ left, center, names: [...names] });
  }
  return (
    <svg class={`axis-names axis-names-${count}`} aria-hidden="true">
      {groups.map(({ left, center, names: [name = "", ...more] }) => {
        const [x, anchor] = toAnchor({ left, center, width });
        const cut = name.length > NAME_CHARS ? `${name.slice(0, NAME_CHARS - 1)}…` : name;
        return (
          <text x={`${round(x * 100)}%`} y="11" text-anchor={anchor}>
            {more.length === 0 ? cut : `${more.length + 1} changes`}
          </text>
        );
      })}
    </svg>
  );
}

/** Names at the edges stay inside. */
function toAnchor({ left, center, width }: Record<"left" | "center" | "width", number>) {
  if (left === 0) return [0, "start"] as const;
  return left === 1 - width ? ([1, "end"] as const) : ([center, "middle"] as const);
}

type Drawing = {
  axis: Axis;
  slug: string;
  steps: readonly Step[];
  lanes: readonly Lane[];
  changes: Map<number, string[]>;
};

/** Hidden from screen readers and the Tab order: the read-out above and the form below have the same content. */
function renderDrawing({ axis, slug, steps, lanes, changes }: Drawing): Html {
  const width = WIDTH / steps.length;
  const tops = lanes.map((_, index) =>
    lanes.slice(0, index).reduce((sum, lane) => sum + toHeight(lane), 0),
  );
  const height = lanes.reduce((sum, lane) => sum + toHeight(lane), 0);
  const marks = [...changes.keys()].map((index) => `M${round((index + 0.5) * width)} 0V${height}`);
  return (
    <svg
      class="axis-drawing"
      viewBox={`0 0 ${WIDTH} ${height}`}
      height={`${height / REM}rem`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
      data-axis
    >
      <path
        class="axis-grid"
        d={lanes
          .map((lane, index) => `M0 ${(tops[index] ?? 0) + toHeight(lane)}H${WIDTH}`)
          .join("")}
      />
      {lanes.map(
        ({ shapes, isFlat }, index) =>
          !isFlat && <g transform={`translate(0 ${tops[index]})`}>{shapes(width)}</g>,
      )}
      <path class="axis-marks" d={marks.join("")} />
      {toLinks(axis).map(({ first, length, from, to }) => (
        <a href={toChangesPath({ app: slug, from, to })} tabindex="-1">
          {steps.slice(first, first + length).map((_, index) => (
            <rect x={round((first + index) * width)} width={round(width)} height={height}>
              <title>{toReadout(steps, axis, { index: first + index, changes })}</title>
            </rect>
          ))}
        </a>
      ))}
    </svg>
  );
}

/** Steps per link: a single minute has too few requests. */
const LINK_STEPS = 5;
const MINUTE_S = 60;

function toLinks(axis: Axis): { first: number; length: number; from: string; to: string }[] {
  const length = axis.stepS === MINUTE_S ? LINK_STEPS : 1;
  return Array.from({ length: Math.ceil(axis.steps / length) }, (_, link) => {
    const first = link * length;
    const { from } = toBounds(axis, first);
    return { first, length, from, to: toBounds(axis, first + length - 1).to };
  });
}

function toBounds({ since, stepS }: Axis, index: number): { from: string; to: string } {
  const at = new Date(since).getTime() + index * stepS * 1000;
  return { from: toMinuteText(at), to: toMinuteText(at + stepS * 1000) };
}

/** Without seconds, to keep the many links short. */
export function toMinuteText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16)}Z`;
}

const MAX_CHANGES_IN_TITLE = 4;

/** The values of a step, one per line. */
function toReadout(
  steps: readonly Step[],
  axis: Axis,
  { index, changes: all }: { index: number; changes: Drawing["changes"] },
): string {
  const step = steps[index];
  if (step === undefined) return "";
  const { requests, errors, rejections, p99, before } = step;
  const changes = [...new Set(all.get(index))];
  const { from } = toBounds(axis, index);
  const more = changes.length - MAX_CHANGES_IN_TITLE;
  return [
    `${(axis.stepS > HOUR_S ? from : from.slice(11)).replace("T", " ").replace("Z", "")}: ${toRequests(requests, hasPast(steps) ? before : undefined)}`,
    ...(errors > 0 ? [`${inDigits(errors)} failed`] : []),
    ...(rejections > 0 ? [`${inDigits(rejections)} rejected`] : []),
    ...(p99 === undefined ? [] : [`p99 ${toLongDuration(p99)}`]),
    ...(requests > 0 && p99 === undefined ? ["p99: too few requests"] : []),
    ...changes.slice(0, MAX_CHANGES_IN_TITLE),
    ...(more > 0 ? [`and ${showCount(more, "more change")}`] : []),
  ].join("\n");
}

function toRequests(requests: number, before: Step | undefined): string {
  const past = before?.requests ?? 0;
  if (requests === 0 && past === 0) return "no requests";
  return showRequests(requests) + (before === undefined ? "" : `, ${inDigits(past)} before`);
}

function toLongDuration(ms: number): string {
  return ms === Number.POSITIVE_INFINITY ? `> ${LAST_BOUND_MS / 1000} s` : toMs(ms);
}

const TICKS = 5;

function toTicks({ since, stepS, steps }: Axis): Date[] {
  const begin = new Date(since).getTime();
  return Array.from(
    { length: TICKS },
    (_, tick) => new Date(begin + (tick * steps * stepS * 1000) / (TICKS - 1)),
  );
}

function toShortTime(at: Date, span: Span): string {
  const text = at.toISOString();
  return span === "week" ? text.slice(5, 10) : text.slice(11, 16);
}

/** Selects a period without scripts, or with the keyboard. */
function renderSelect(axis: Axis, slug: string): Html {
  const { from } = toBounds(axis, 0);
  const { to } = toBounds(axis, axis.steps - 1);
  return (
    <form class="axis-select" method="get" action={CHANGES} aria-label="Select a period">
      {slug !== "" && <input type="hidden" name="app" value={slug} />}
      {renderMoment("from", "From (UTC)", from)}
      {renderMoment("to", "To (UTC)", to)}
      <button class="button button-quiet" type="submit">
        What changed
      </button>
    </form>
  );
}

/** A datetime-local field, in UTC. */
export function renderMoment(name: string, label: string, value: string): Html {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input type="datetime-local" id={name} name={name} value={value.slice(0, 16)} />
    </div>
  );
}

const MAX_CHANGES = 6;

function renderChanges(
  { changes, since, stepS, steps }: Axis,
  { slug, now }: { slug: string; now: number },
): Part {
  if (changes.length === 0) return <p class="quiet">No changes in this period.</p>;
  const begin = new Date(since).getTime();
  const span = { from: toMinuteText(begin), to: toMinuteText(begin + (steps + 1) * stepS * 1000) };
  return [
    <ul class="axis-changes">
      {changes.slice(0, MAX_CHANGES).map((change) => (
        <li>{renderChange(change, { hasApp: slug === "", now })}</li>
      ))}
    </ul>,
    changes.length > MAX_CHANGES && (
      <p>
        <a href={toChangesPath({ app: slug, ...span })}>All changes</a>
      </p>
    ),
  ];
}
