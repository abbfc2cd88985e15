/**
 * Sample arguments of the functions and actions that the Console's login can run, and a call of each. The list of calls comes
 * from grants.json: a new function or action is called automatically, unless an argument has no sample yet.
 *
 * @module
 */

import { FUNCTIONS } from "../../../src/db/functions.ts";
import { type FunctionShape, quoteLiteral } from "../../../src/db/mod.ts";
import GRANTS from "../../db/grants.json";
import { IDENTITY_SECRETS } from "../deps.ts";
import type { Person } from "../people.ts";
import type { TestApp } from "../service.ts";

/** The app, its table and the person whom the calls name. */
export type Subject = { app: TestApp; table: string; person: Person };

/** The text of a value as PostgreSQL reads it; null for a missing value. */
type Sample = string | null | ((subject: Subject) => string);

const BYTES = `\\x${"01".repeat(32)}`;

/** By the name of the argument; with its type if arguments of the same name have several. */
const SAMPLES: Readonly<Record<string, Sample>> = {
  app_slug: ({ app }) => app.slug,
  app_slugs: ({ app }) => `{${app.slug}}`,
  new_slug: ({ app }) => app.slug,
  person: ({ person }) => person.id,
  email: ({ person }) => person.email,
  table: ({ table }) => table,
  wanted_table: ({ table }) => table,
  "wanted text": ({ table }) => table,
  "wanted uuid": ({ app }) => app.id,
  "wanted int4": "1",
  "wanted int8[]": null,
  of_row: null,
  list: "apps",
  sorted_by: "slug",
  is_descending: "false",
  skipped: "0",
  is_deleted: "false",
  expected: ({ table }) => `{${table}}`,
  new_id: () => crypto.randomUUID(),
  new_email: () => `${crypto.randomUUID()}@example.org`,
  mails: "{someone@example.org}",
  people: "[]",
  proofs: ({ person: { id, email } }) =>
    `{"\\\\x${Buffer.from(IDENTITY_SECRETS.current.prove("address", id, email)).toString("hex")}"}`,
  new_role: "reader",
  new_name: null,
  new_console_role: null,
  disabled: "false",
  session_id: "0000000000000000",
  old_key_id: ({ app }) => app.key.slice(3, 19),
  old_key_ids: ({ app }) => `{${app.key.slice(3, 19)}}`,
  new_key_id: "0000000000000001",
  key_name: "x",
  key_scopes: "{data:read}",
  key_expires_at: null,
  grace_s: "0",
  used_for: "rows",
  of_act: () => crypto.randomUUID(),
  link_id: "aaaaaaaaaaaaaaaa",
  replaced: "{origin,redirect}",
  removed: "[]",
  added: "[]",
  setting: "disabled",
  is_on: "true",
  per_minute: null,
  key_per_minute: null,
  wanted_span: "hour",
  unit: "hour",
  search: "x",
  names: "x",
  before_seq: null,
  before_id: null,
  step: "begin_import",
  about: "{}",
  from_id: "0",
  until_id: null,
};

/** For every other argument of the type. */
const BY_TYPE: Readonly<Record<string, Sample>> = {
  bytea: BYTES,
  int4: "9",
  timestamptz: "tomorrow",
};

/** Empty text is no filter, and the first page. */
const EMPTY = /^(of|after)_|_secret_id$/;

/** Arguments that have another meaning in these functions. */
const OF_FUNCTIONS: Readonly<Record<string, Readonly<Record<string, Sample>>>> = {
  create_app: { app_slug: "another-app" },
  invite: { email: () => `${crypto.randomUUID()}@example.org`, app_slug: null, new_role: null },
  invite_people: { app_slug: null, new_role: null },
  set_console_role: { new_role: "super_admin" },
  // A table that no app uses.
  drop_table: {
    wanted_table: ({ table }) => `${table}_unused`,
    expected: ({ table }) => `{${table}_unused}`,
  },
};

export type ConsoleCall = {
  name: string;
  needsRecentSignIn: boolean;
  /** The names of the values that the caller passes. */
  inputs: readonly string[];
  /** The call, of a browser with these credentials as SQL. Other values replace the samples. */
  render: (visitor: string, subject: Subject, values?: Readonly<Record<string, string>>) => string;
};

/** The functions that {@linkcode CONSOLE_CALLS} does not have: the dispatcher of actions, and functions that administrators do not need. */
const APART = ["console_act", "console_log_rejection"];

/** The functions and actions that an administrator in the Console can call. */
export const CONSOLE_CALLS: readonly ConsoleCall[] = Object.entries(
  GRANTS as Readonly<Record<string, Readonly<Record<string, string>>>>,
).flatMap(([object, { console: rights }]) => {
  const [, kind, name = ""] = /^(action|function) (?:rowhouse\.)?(\w+)/.exec(object) ?? [];
  if (kind === undefined || rights === undefined || APART.includes(name)) return [];
  return [toCall(kind, name, rights)];
});

function toCall(kind: string, name: string, rights: string): ConsoleCall {
  const shapes: Readonly<Record<string, FunctionShape>> = FUNCTIONS;
  const { parameters, input = parameters } = shapes[name] ?? { parameters: {} };
  return {
    name,
    needsRecentSignIn: rights.endsWith("recent sign-in"),
    inputs: Object.keys(input),
    render: (visitor, subject, values = {}) => {
      const found = Object.entries(input).map(([argument, type]) => {
        const text = values[argument] ?? findSample(name, argument, type, subject);
        return { argument, type, text };
      });
      if (kind === "function") {
        const passed = found.map(({ argument, type, text }) => {
          const literal = text === null ? "null" : quoteLiteral(text);
          return `${argument} => ${literal}::${type}`;
        });
        return `select rowhouse.${name}(${[`visitor => ${visitor}`, ...passed].join(", ")})`;
      }
      const json = Object.fromEntries(
        found.map(({ argument, type, text }) => [
          argument,
          type === "jsonb" && text !== null ? JSON.parse(text) : text,
        ]),
      );
      return renderAct(visitor, name, json);
    },
  };
}

/** A call of the dispatcher. */
export function renderAct(visitor: string, action: string, input: object): string {
  return `select rowhouse.console_act(${visitor}, '${action}', ${quoteLiteral(JSON.stringify(input))}::jsonb)`;
}

function findSample(name: string, argument: string, type: string, subject: Subject) {
  const found = [
    OF_FUNCTIONS[name]?.[argument],
    SAMPLES[`${argument} ${type}`],
    SAMPLES[argument],
    BY_TYPE[type],
    type === "text" && EMPTY.test(argument) ? "" : undefined,
  ].find((sample) => sample !== undefined);
  if (found === undefined)
    throw new Error(
      `${name}: add a sample of its argument ${argument} (${type}) to SAMPLES in test/support/samples/calls.ts`,
    );
  return typeof found === "function" ? found(subject) : found;
}
