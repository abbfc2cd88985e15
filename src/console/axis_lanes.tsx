/** @jsxImportSource #html @jsxRuntime automatic */
/** The lanes of a time axis as shapes: a line of requests, bars of errors and rejections, a line of p99. @module */
import type { Html } from "../pages/mod.ts";
import { round } from "./chart.tsx";
import { toMs } from "./numbers.tsx";
import type { Step } from "./steps.ts";

/** The height of a lane. */
export const LANE = 60;
const TOP = 6;

/** Short enough for the label of a lane: 1.2M. */
const COMPACT = new Intl.NumberFormat("en", { notation: "compact" });

export type Lane = { name: string; top: string; shapes: (width: number) => Html };

export function toLanes(steps: readonly Step[]): Lane[] {
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
      shapes: (width) => (
        <path class="axis-line" d={toLine(p99.map(toFinite), slowest || 1, width)} />
      ),
    },
  ];
}

/** Durations beyond the last bucket are drawn at its bound. */
export const LAST_BOUND_MS = 2500;

function toFinite(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.min(ms, LAST_BOUND_MS);
}

function toBarLane(name: string, counts: readonly number[], tone: string): Lane {
  const max = Math.max(...counts, 1);
  return {
    name,
    top: COMPACT.format(max),
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
