/** Admits a person whom one way to sign in has verified: the session or the pending sign-in, and the next page. @module */

import { redirect } from "../pages/mod.ts";
import type { finishSignIn } from "../records/sessions/mod.ts";
import { markDevice, toPendingCookie, toSessionCookies } from "./cookies.ts";
import { makeSignInStart, type PageDeps } from "./page_deps.tsx";
import { PATHS } from "./paths.ts";

/** `done`: a session. `asked`: a session, but the person should add a second factor. `pending`: the second factor is due. */
export type Admitted = { kind: "done" | "asked" | "pending"; cookies: string[] };

type Start = ReturnType<typeof makeSignInStart>;

/** The session or the pending sign-in that `finish` stores for a person; `undefined` if the database does not admit them. */
export async function admit(
  deps: PageDeps,
  request: Request,
  userId: string,
  finish: (start: Start) => ReturnType<typeof finishSignIn>,
): Promise<Admitted | undefined> {
  const start = makeSignInStart(deps, request, userId);
  const kind = await finish(start);
  if (kind === "wrong") return undefined;
  if (kind === "pending") return { kind, cookies: [toPendingCookie(start.pending)] };
  const device = markDevice(deps, request, { userId, hasFactor: false });
  return { kind, cookies: [...toSessionCookies(start.session, deps.identity), device] };
}

/** Redirects to the destination, or to the second factor first; its query holds the destination. */
export function redirectAdmitted(
  { kind, cookies }: Admitted,
  { location, action }: { location: string; action: string },
): Response {
  const query = toQuery(action);
  if (kind === "pending") return redirect(`${PATHS.secondFactor}${query}`, { cookies });
  if (kind === "asked" && location !== PATHS.security)
    return redirect(`${PATHS.addFactor}${query}`, { cookies });
  return redirect(location, { cookies });
}

/** The query with its question mark; empty without a query. */
export function toQuery(path: string): string {
  return /\?.*/.exec(path)?.[0] ?? "";
}
