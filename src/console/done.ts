/** The notice on the page after an action. @module */
import { readParameters } from "../http/mod.ts";
import { type Html, redirect, renderNotice } from "../pages/mod.ts";
import type { Visit } from "./enter.ts";

const DONE = {
  created: "App created.",
  "app-deleted": "App deleted. Any app can now use its name.",
  settings: "Settings saved. They take effect on the next request.",
  limits: "Limits saved. They take effect on the next request.",
  "key-revoked": "Key revoked. It stopped working.",
  "use-ended": "The app no longer uses the table.",
  dropped: "Table dropped.",
  transferred: "Ownership transferred.",
  role: "Role saved. Takes effect on the next request.",
  revoked: "Role revoked.",
  disabled: "Account disabled. All sessions have ended.",
  enabled: "Account enabled. The person can sign in again.",
  reset: "Second factor reset. All sessions have ended.",
  ended: "Sessions ended.",
  console: "Console role saved. Takes effect on the next request.",
  added: "Role added to the pending invitation.",
  granted: "Role granted. The person already had an account.",
  withdrawn: "Invitation withdrawn. The link no longer works.",
  address: "Address changed. The person signs in with the new address.",
  deleted: "Account deleted. The audit log keeps only its id.",
} as const;

export type Notice = keyof typeof DONE;

export function redirectWithNotice(path: string, done: Notice | undefined): Response {
  return redirect(done === undefined ? path : `${path}?${new URLSearchParams({ done })}`);
}

/** The notice for the page after an action. */
export function renderDone({ context }: Visit): Html | undefined {
  const given = new Map(readParameters(context.query)).get("done");
  const text = Object.entries(DONE).find(([name]) => name === given)?.[1];
  return text === undefined ? undefined : renderNotice("info", text);
}
