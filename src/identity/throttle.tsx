/** @jsxImportSource #html @jsxRuntime automatic */
/** The response to a sign-in that must wait. @module */

import type { Html } from "../pages/mod.ts";
import type { PageDeps } from "./page_deps.tsx";

const OR = new Intl.ListFormat("en", { type: "disjunction" });

/** The rejection of an attempt above its limits, with the `ways` that do not have to wait. */
export function describeThrottle(
  deps: Pick<PageDeps, "now">,
  waitS: number,
  ways: readonly string[] = [],
) {
  return {
    status: 429,
    headers: { "retry-after": String(waitS) },
    notice: (
      <>
        Too many sign-in attempts. {renderWait(deps, waitS)}
        {ways.length > 0 && ` Or use ${OR.format(ways)}.`}
      </>
    ),
  };
}

const MINUTE_MS = 60_000;

/** How long to wait, and until when: a script shows the reader's local time. */
export function renderWait({ now }: Pick<PageDeps, "now">, waitS: number): Html {
  const end = Math.ceil((now() + waitS * 1000) / MINUTE_MS) * MINUTE_MS;
  const text = new Date(end).toISOString();
  return (
    <>
      Please wait {toWait(waitS)}, until{" "}
      <time datetime={text}>{text.slice(0, 16).replace("T", " ")} UTC</time>, then try again.
    </>
  );
}

const DAY_MINUTES = 1440;

/** The time to wait, such as "5 minutes". */
function toWait(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  if (minutes > DAY_MINUTES) return `${Math.ceil(minutes / DAY_MINUTES)} days`;
  return minutes === 1 ? "a minute" : `${minutes} minutes`;
}
