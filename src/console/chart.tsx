/** @jsxImportSource #html @jsxRuntime automatic */
/** Small charts without an axis, drawn by the server, next to the same numbers as text. @module */
import type { Html } from "../pages/mod.ts";

const WIDTH = 100;
const HEIGHT = 28;
/** Space for the line's width at the edges. */
const INSET = 2;

/** A line of counts over time, with marks at failures. */
export function renderLine(counts: readonly number[], marks: readonly number[] = []): Html {
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
export function toFewer(counts: readonly number[], maxCount: number): number[] {
  const size = Math.ceil(counts.length / maxCount);
  const groups = Array.from({ length: Math.ceil(counts.length / size) }, (_, index) =>
    counts.slice(index * size, (index + 1) * size),
  );
  return groups.map((group) => group.reduce((sum, count) => sum + count, 0));
}

export function round(number: number): number {
  return Math.round(number * 10) / 10;
}
