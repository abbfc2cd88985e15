/** @jsxImportSource #html @jsxRuntime automatic */
/** A QR code as inline SVG, dark on light in every theme, because cameras require it. @module */
import { encode } from "uqr";
import type { Html } from "../pages/mod.ts";

/** Width of the empty border that cameras require. */
const BORDER = 4;

/** `label` is the text alternative. */
export function renderQrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: "M", border: BORDER });
  const path = data.map(toRuns).join("");
  return (
    <svg
      class="qr-code"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

/** A stroke for each run of dark modules. */
function toRuns(row: readonly boolean[], y: number): string {
  const bits = row.map((isDark) => (isDark ? "1" : "0")).join("");
  return [...bits.matchAll(/1+/g)]
    .map(({ index, 0: run }) => `M${index} ${y}h${run.length}v1h-${run.length}z`)
    .join("");
}
