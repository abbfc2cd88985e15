/** @jsxImportSource #html @jsxRuntime automatic */
/** Times in a readable form. @module */
import type { Html } from "./html.ts";
import { toDistance } from "./scripts/times.ts";

/** The relative time, with the time in UTC on hover. */
export function renderTime(text: string | null, now: number): Html {
  if (text === null) return <span class="quiet">never</span>;
  const at = new Date(text);
  const utc = `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const distance = toDistance(at.getTime() - now) ?? utc.slice(0, 10);
  return (
    <time datetime={at.toISOString()} title={utc} data-relative>
      {distance}
    </time>
  );
}
