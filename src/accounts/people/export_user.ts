/**
 * Exports all stored data of a person, for that person. Omits the proofs of sessions, links and passwords: a reader of the file
 * must not gain access.
 *
 * @module
 */
import type { Database } from "../../db/mod.ts";
import { callAsOperator } from "../actions/action.ts";
import { readEmail } from "./email.ts";

/** The person's rows by table, with the column names of the database. */
export type UserExport = {
  user: Record<string, unknown>;
  grants: Record<string, unknown>[];
  sessions: Record<string, unknown>[];
  /** One invitation until it is accepted. */
  invitations: Record<string, unknown>[];
  passwordLinks: Record<string, unknown>[];
  providerLinks: Record<string, unknown>[];
  /** When the authenticator app was added, without its secret. */
  totpFactors: Record<string, unknown>[];
  recoveryCodes: Record<string, unknown>[];
  /** Names and last uses of factors, without the data that verifies them. */
  passkeys: Record<string, unknown>[];
  /** Sign-ins that wait for the second factor. */
  pendingSignIns: Record<string, unknown>[];
  /** One row if there were wrong passwords since the last correct password. */
  failedSignIns: Record<string, unknown>[];
  /** Emails that wait, or were sent in the last hour. */
  mails: Record<string, unknown>[];
  /** Audit entries by this person, or about them. */
  audit: Record<string, unknown>[];
};

/** @throws {Problem} invalid_request — no one has this address */
export async function exportUser(deps: { admin: Database }, text: string): Promise<UserExport> {
  return (await callAsOperator(deps, "export_user", { email: readEmail(text) })) as UserExport;
}
