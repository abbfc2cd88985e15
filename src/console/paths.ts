/** The addresses of the Console's pages. @module */
import { type AppSwitchName, toDashed } from "../app_switch.ts";
import { CONSOLE_PATH } from "../identity/mod.ts";

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
