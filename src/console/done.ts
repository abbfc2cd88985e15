/** The notice on the page after an action. @module */
import { readParameters, splitTarget, toTarget } from "../http/mod.ts";
import { type Html, redirect, renderNotice } from "../pages/mod.ts";
import type { Notices, Visit } from "./enter.tsx";

export const ROLE_SAVED: Notices = { role: "Role saved. Takes effect on the next request." };
export const SESSIONS_ENDED: Notices = { ended: "Sessions ended." };

export function redirectWithNotice(path: string, done: string): Response {
  return redirect(`${path}?${new URLSearchParams({ done })}`);
}

/** The address of a page without the notice of the form before: a form that is sent there can be rejected. */
export function withoutNotice(url: string): string {
  const { path, query } = splitTarget(url);
  const rest = query.split("&").filter((term) => !term.startsWith("done="));
  return toTarget({ path, query: rest.join("&") });
}

export function renderDone({ context, notices }: Visit): Html | undefined {
  const given = new Map(readParameters(context.query)).get("done") ?? "";
  const text = Object.hasOwn(notices, given) ? notices[given] : undefined;
  return text === undefined ? undefined : renderNotice("info", text);
}
