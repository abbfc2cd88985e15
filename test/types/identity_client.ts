/** What the compiler says of the identity client's types: checked by `tsc`, run by nobody. @module */
import type { IdentityUser, SessionState } from "../../src/sdk/identity.ts";

export function tell(session: SessionState): string {
  if (session.status === "unauthenticated") {
    // @ts-expect-error nobody is there
    return session.user;
  }
  const user: IdentityUser = session.user;
  return user.displayName ?? user.email;
}

// @ts-expect-error `user` is no key of it
export const wrong: SessionState = { status: "unauthenticated", user: undefined };
