/** What begins a session at the end of a sign-in, however the person proved who it is. @module */
import type { NewSession } from "../secrets/session_text.ts";

export type SessionStart = {
  session: NewSession;
  /** How long it lasts, however much it is used. */
  sessionMaxS: number;
  /** Sessions that the browser presented: they end. */
  presented: string;
  /** What kind of browser it is, such as `Firefox on Linux`. */
  deviceName: string;
  /** Whether this very person has signed in on this device before. */
  isKnownDevice: boolean;
};

/** The arguments of every SQL function that makes a session. */
export function toSessionValues({
  session,
  sessionMaxS,
}: Pick<SessionStart, "session" | "sessionMaxS">) {
  return {
    new_id: session.id,
    new_session_digest: session.sessionDigest,
    new_identity_digest: session.identityDigest,
    new_secret_id: session.secretId,
    max_s: sessionMaxS,
  };
}
