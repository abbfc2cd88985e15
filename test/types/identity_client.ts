/** The types of the identity client. Compiled by `tsc`, never run. @module */
import type { IdentityUser, SessionState } from "../../src/sdk/identity.ts";

export function nameOf(session: SessionState): string {
  if (session.status === "unauthenticated") {
    // @ts-expect-error no person is signed in
    return session.user;
  }
  const user: IdentityUser = session.user;
  return user.displayName ?? user.email;
}

// @ts-expect-error an unauthenticated session has no `user`
export const wrong: SessionState = { status: "unauthenticated", user: undefined };
