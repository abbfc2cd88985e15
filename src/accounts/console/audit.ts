/** A page of the audit log for the Console. @module */

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

export type AuditContent = {
  /** The app of the filter. */
  app: { disabledAt: string | null } | null;
  /** Newest first. */
  entries: ConsoleAuditEntry[];
};
