/** Pages of the audit log for the Console: filtered, newest first. @module */
import { type ConsoleDeps, callConsole, type PresentedCookies } from "../actions/action.ts";
import type { PageView } from "./apps.ts";

export type ConsoleAuditEntry = {
  id: number;
  at: string;
  /** A person's id, or a fixed name such as `operator`. */
  actor: string;
  actorEmail: string | null;
  action: string;
  userId: string | null;
  email: string | null;
  app: string | null;
  /** False for a deleted app. */
  appExists: boolean;
  /** The IP address of the client. */
  client: string | null;
  /** Truncated JSON. */
  details: string;
};

/** An empty or undefined field does not filter. */
export type AuditFilter = {
  actor: string;
  action: string;
  app: string;
  person: string;
  /** The first time, and the end (exclusive), in ISO 8601. */
  from: string | undefined;
  until: string | undefined;
};

export type AuditPage = {
  /** Only entries older than the entry with this id. */
  before: number | undefined;
  maxRows: number;
  /** Max characters of the details. */
  detailsChars: number;
};

export type AuditView = PageView<{
  /** The app of the filter. */
  app: { disabledAt: string | null } | null;
  entries: ConsoleAuditEntry[];
}>;

/** The matching entries, newest first. @throws {Problem} as `actions/rejections.ts` lists them */
export async function listConsoleAudit(
  deps: ConsoleDeps,
  cookies: PresentedCookies,
  filter: AuditFilter & AuditPage,
): Promise<AuditView> {
  const { actor, action, app, person, from, until, before, maxRows, detailsChars } = filter;
  const page = await callConsole(deps, cookies, "console_list_audit", {
    of_actor: actor,
    of_action: action,
    of_app: app,
    of_person: person,
    from_at: toDate(from),
    before_at: toDate(until),
    before_id: before,
    max_rows: maxRows,
    details_chars: detailsChars,
  });
  return page as AuditView;
}

function toDate(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}
