/** The addresses of the Console's pages. @module */

import { type AppSwitchName, toDashed } from "../app_switch.ts";
import { readParameters, splitTarget, toTarget } from "../http/mod.ts";
import { CONSOLE_PATH } from "../identity/mod.ts";
import { type Html, redirect, renderNotice } from "../pages/mod.ts";
import type { Notices, Visit } from "./enter.tsx";

export const FIND = `${CONSOLE_PATH}/find`;
export const DOCS = `${CONSOLE_PATH}/docs`;
export const APPS = `${CONSOLE_PATH}/apps`;
export const NEW_APP = `${CONSOLE_PATH}/new-app`;
export const PEOPLE = `${CONSOLE_PATH}/people`;
export const INVITATIONS = `${CONSOLE_PATH}/invitations`;
export const NEW_PERSON = `${CONSOLE_PATH}/new-person`;
export const TABLES = `${CONSOLE_PATH}/tables`;
export const REQUESTS = `${CONSOLE_PATH}/requests`;
export const CHANGES = `${CONSOLE_PATH}/changes`;
export const ACTIVITY = `${CONSOLE_PATH}/activity`;

export function toAppPath(slug: string): string {
  return `${APPS}/${encodeURIComponent(slug)}`;
}

/** The page that turns a setting on or off. */
export function toSwitchPath(slug: string, name: AppSwitchName): string {
  return `${toAppPath(slug)}/set-${toDashed(name)}`;
}

/** The audit log of the service, or of one app. */
export function toActivityPath(slug: string | undefined): string {
  return slug === undefined ? ACTIVITY : `${toAppPath(slug)}/activity`;
}

export function toKeysPath(slug: string): string {
  return `${toAppPath(slug)}/keys`;
}

export function toKeyPath(slug: string, keyId: string): string {
  return `${toKeysPath(slug)}/${encodeURIComponent(keyId)}`;
}

export function toPersonPath(id: string): string {
  return `${PEOPLE}/${encodeURIComponent(id)}`;
}

export function toRolePath(slug: string, id: string): string {
  return `${toAppPath(slug)}/people/${encodeURIComponent(id)}`;
}

export function toTablePath(table: string): string {
  return `${TABLES}/${encodeURIComponent(table)}`;
}

export function toAppTablesPath(slug: string): string {
  return `${toAppPath(slug)}/tables`;
}

/** The form of a new table, or of a new column of a table. */
export function toNewTablePath(slug: string): string {
  return `${toAppPath(slug)}/new-table`;
}

export function toNewColumnPath(slug: string, table: string): string {
  return `${toRowsPath(slug, table)}/new-column`;
}

export function toAppRulesPath(slug: string): string {
  return `${toAppPath(slug)}/rules`;
}

export function toTableRulesPath(table: string): string {
  return `${toTablePath(table)}/rules`;
}

export function toRowsPath(slug: string, table: string): string {
  return `${toAppTablesPath(slug)}/${encodeURIComponent(table)}`;
}

export function toPushesPath(slug: string): string {
  return `${toAppPath(slug)}/pushes`;
}

export function toPushPath(slug: string, seq: number): string {
  return `${toPushesPath(slug)}/${seq}`;
}

export function toRequestPath(id: string): string {
  return `${REQUESTS}/${encodeURIComponent(id)}`;
}

/** The page of the changes in a period, and its increased error codes; if `app` is empty, of all apps. */
export function toChangesPath({ app, from, to }: Record<"app" | "from" | "to", string>): string {
  // A query can contain colons; without escapes, the many links stay short.
  return `${CHANGES}?${app === "" ? "" : `app=${encodeURIComponent(app)}&`}from=${from}&to=${to}`;
}

// The notice on the page after an action.

export const SESSIONS_ENDED: Notices = { ended: "Sessions ended." };

export function redirectWithNotice(path: string, done: string): Response {
  return redirect(`${path}?${new URLSearchParams({ done })}`);
}

/** The address of a page without the notice of the form before: a form that is sent there can be rejected. */
export function withoutNotice(url: string): string {
  const { path, query } = splitTarget(url);
  const rest = query.split("&").filter((term) => !term.startsWith("done="));
  return toTarget({ path, query: rest.join("&") });
}

export function renderDone({ context, notices }: Visit): Html | undefined {
  const given = new Map(readParameters(context.query)).get("done") ?? "";
  const text = Object.hasOwn(notices, given) ? notices[given] : undefined;
  return text === undefined ? undefined : renderNotice("info", text);
}
