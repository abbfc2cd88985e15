/** Changes of an app's targets after it was created: some are added, some removed, or all of a kind replaced. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import { OPERATOR } from "./audit.ts";
import { refuseUnknownApp } from "./keys.ts";
import { readTargets, type Target, type TypedTargets } from "./target.ts";

/** What an app has registered, sorted. */
export type RegisteredTargets = { origins: string[]; redirects: string[] };

export type SetTargetsOptions = {
  slug: string;
  /** The kinds of which all that there are go first. */
  replaced: readonly Target["kind"][];
  add: TypedTargets;
  /** As they were registered. */
  remove: TypedTargets;
  cookieDomain: string | undefined;
};

/**
 * Changes an app's targets; returns what there is then.
 *
 * @throws {Problem} unknown_app; invalid_request — a URL to add is malformed, or one to remove is not registered
 */
export async function setTargets(
  { admin }: { admin: Database },
  { slug, replaced, add, remove, cookieDomain }: SetTargetsOptions,
): Promise<RegisteredTargets> {
  const added = readTargets(add, cookieDomain);
  const gone = [
    ...remove.origins.map((url) => ({ kind: "origin", url })),
    ...remove.redirects.map((url) => ({ kind: "redirect", url })),
  ];
  try {
    const [row] = await admin.query<{ result: string }>(
      `select rowhouse.set_targets($1, string_to_array($2, ','), $3::text::jsonb, $4::text::jsonb, $5)::text as result`,
      [slug, replaced.join(","), JSON.stringify(gone), JSON.stringify(added), OPERATOR],
      { retry: "unsafe", queue: SERVICE_QUEUE },
    );
    return readResult(slug, JSON.parse(row?.result ?? "{}") as Result);
  } catch (error) {
    throw refuseUnknownApp(error, slug);
  }
}

type Result = RegisteredTargets | { missing: { kind: Target["kind"]; url: string }[] };

function readResult(slug: string, result: Result): RegisteredTargets {
  if (!("missing" in result)) return result;
  const shown = result.missing.map(({ kind, url }) => `${kind} ${quote(url)}`).join(", ");
  throw new Problem("invalid_request", {
    message: `Cannot remove ${shown}: ${slug} has not registered it`,
  });
}
