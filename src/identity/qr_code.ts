/** A text as a QR code: a picture in the page itself, dark on light in every theme, because cameras need that. @module */
import { encode } from "uqr";
import { type Html, html } from "../pages/mod.ts";

/** Cameras find it by the empty border. */
const BORDER = 4;

/** `label` is what those are told who cannot see it. */
export function renderQrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: "M", border: BORDER });
  const path = data.map(toRuns).join("");
  return html`<svg class="qr-code" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path d="${path}" fill="#000"/></svg>`;
}

/** One stroke for each run of dark modules. */
function toRuns(row: readonly boolean[], y: number): string {
  const bits = row.map((isDark) => (isDark ? "1" : "0")).join("");
  return [...bits.matchAll(/1+/g)]
    .map(({ index, 0: run }) => `M${index} ${y}h${run.length}v1h-${run.length}z`)
    .join("");
}
