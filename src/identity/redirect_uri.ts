/** Compares return addresses with the targets of an app. @module */
import { readReturnUrl, type Target } from "../records/apps/mod.ts";

/** The parsed href of a `redirect_uri` that matches a target of the app; `undefined` for every other text. */
export function readRedirectUri(text: string, targets: readonly Target[]): string | undefined {
  const url = readReturnUrl(text);
  return url && targets.some((target) => isTarget(url, target)) ? url.href : undefined;
}

function isTarget(url: URL, target: Target): boolean {
  if (target.kind === "origin") return url.origin === target.url;
  return url.origin + url.pathname === target.url;
}
