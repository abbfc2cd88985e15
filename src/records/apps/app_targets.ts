/** Adds, removes and replaces targets of an existing app. @module */
import { Problem } from "../../problem.ts";
import { quote } from "../../std/quote.ts";
import { type Actor, runAction } from "../actions/action.ts";
import { readTargets, type Target, type TypedTargets } from "./targets.ts";

/** An app's registered targets, sorted. */
export type RegisteredTargets = { origins: string[]; redirects: string[] };

export type SetTargetsOptions = {
  slug: string;
  /** Kinds whose targets are all removed first. */
  replaced: readonly Target["kind"][];
  add: TypedTargets;
  /** URLs as they are registered. */
  remove: TypedTargets;
  cookieDomain: string | undefined;
};

/**
 * Changes an app's targets; returns the new targets.
 *
 * @throws {Problem} unknown_app; invalid_request — a URL to add is malformed, or a URL to remove is not registered
 */
export async function setTargets(
  actor: Actor,
  { slug, replaced, add, remove, cookieDomain }: SetTargetsOptions,
): Promise<RegisteredTargets> {
  const added = readTargets(add, cookieDomain);
  const removed = [
    ...remove.origins.map((url) => ({ kind: "origin", url })),
    ...remove.redirects.map((url) => ({ kind: "redirect", url })),
  ];
  const values = { app_slug: slug, replaced, removed, added };
  const result = await runAction(actor, "set_targets", values);
  return readResult(slug, result as TargetsResult);
}

type TargetsResult = RegisteredTargets | { missing: { kind: Target["kind"]; url: string }[] };

function readResult(slug: string, result: TargetsResult): RegisteredTargets {
  if (!("missing" in result)) return result;
  const missing = result.missing.map(({ kind, url }) => `${kind} ${quote(url)}`).join(", ");
  throw new Problem("invalid_request", {
    message: `Cannot remove ${missing}: ${slug} has not registered it`,
  });
}
