/** The table of settings: name, form, default and meaning. `.env.example` and the page are generated from it. @module */
import * as v from "valibot";
import { AUDIT_RETENTION_S, KEY_PREFIX, MIN_IDENTITY_SECRET_BYTES } from "../accounts/pure.ts";
import { IDEMPOTENCY_BYTES, LIST_BYTES, LIST_CACHE_BYTES } from "../data/pure.ts";
import { isProxy, MIN_SECRET_BYTES } from "../gateway/pure.ts";
import { DEFAULT_SETTINGS } from "../identity/pure.ts";
import { LOG_LEVELS } from "../observe.ts";
import { isPreview, PREVIEWS } from "../preview.ts";
import { PUSH_LIMITS } from "../push/pure.ts";
import { ROLES } from "../role.ts";
import { DAY_S, HOUR_S } from "../std/duration.ts";
import {
  Duration,
  HttpUrl,
  list,
  MailSender,
  MailUrl,
  OrganizationName,
  PngFile,
  PostgresUrl,
  Retention,
  type Setting,
  secrets,
  whole,
} from "./forms.ts";

const HmacSecrets = secrets(MIN_SECRET_BYTES);

/** Every setting. */
export const SETTINGS = {
  DATABASE_URL: {
    form: v.optional(PostgresUrl),
    about:
      "The serving login's connection string; may go through a transaction pooler. Required by serve.",
  },
  ADMIN_DATABASE_URL: {
    form: v.optional(PostgresUrl),
    about:
      "For serve: the pushing login's connection string, a member of rowhouse_tables and of nothing else. For migrate and admin: an administrator's, a member of rowhouse_owner. Straight to PostgreSQL, never through a pooler. Default: DATABASE_URL.",
  },
  CONSOLE_DATABASE_URL: {
    form: v.optional(PostgresUrl),
    about:
      "The connection string of the login on which administrators act from a browser; rowhouse migrate grants it that and nothing else. A login of its own. Unset: no Console. Of a split service, only the identity service has it.",
  },
  IDENTITY_DATABASE_URL: {
    form: v.optional(PostgresUrl),
    about:
      "Only where ROLE is all: the connection string of a login of its own for identity, so that code planted among apps' tables never runs in a session that reads people. Run rowhouse migrate with it. Unset: identity shares DATABASE_URL, and a thief of the pushing login can do what the serving login can.",
  },
  IDENTITY_DATABASE_POOL: {
    form: whole(1, 500),
    initial: "10",
    about:
      "Maximum number of connections of IDENTITY_DATABASE_URL, in addition to DATABASE_POOL: together 30 for each worker by default.",
  },
  ROWS_DATABASE_URL: {
    form: v.optional(PostgresUrl),
    about:
      "For admin: the connection string of the login that counts and deletes apps' rows; rowhouse migrate grants it that and nothing else. A login of its own, straight to PostgreSQL. serve does not start with it. Unset: the administrator creates a login for each command and drops it.",
  },
  DATABASE_POOL: {
    form: whole(1, 500),
    initial: "20",
    about: "Maximum number of connections in the pool.",
  },
  MAX_RESPONSE_BYTES: {
    form: whole(65_536, 268_435_456),
    initial: String(LIST_BYTES),
    about:
      "Maximum size in bytes of a row as JSON, and of a list give or take a row: the rest comes with the next page. A write that would make a larger row is refused.",
  },
  LIST_CACHE_BYTES: {
    form: whole(0, 17_179_869_184),
    initial: String(LIST_CACHE_BYTES),
    about:
      "How much memory each process may use to keep the pages it has answered, so that a list that has not changed is not built again; the database confirms each one before it is sent. 0: none are kept.",
  },
  IDEMPOTENCY_BYTES: {
    form: whole(0, 1_099_511_627_776),
    initial: String(IDEMPOTENCY_BYTES),
    about:
      "How many bytes of answers to writes with an Idempotency-Key are kept for each app, for 24 hours; past it, new keys get 429. Counted every ten minutes, and by each process in between.",
  },
  PUSHES_PER_HOUR: {
    form: whole(1, 1_000_000),
    initial: String(PUSH_LIMITS.pushesPerHour),
    about:
      "How many pushes and dry runs an app may make per hour; each counts once, whatever its outcome, and the allowance is refilled evenly.",
  },
  JOURNAL_BYTES: {
    form: whole(65_536, Number.MAX_SAFE_INTEGER),
    initial: String(PUSH_LIMITS.journalBytes),
    about:
      "Maximum size in bytes of all migrations of an app together. Pushes by an operator (--app) are bound by neither limit.",
  },
  DATABASE_PREPARE: {
    form: v.pipe(
      v.picklist(["on", "off"], "must be on or off"),
      v.transform((text) => text === "on"),
    ),
    initial: "on",
    about:
      "Whether to use prepared statements; off behind PgBouncer before 1.21 in transaction mode.",
  },
  PREVIEW: {
    form: v.pipe(
      list(isPreview, `must be one of ${PREVIEWS.join(", ")}, or several with commas between`),
      v.transform((names) => names.filter(isPreview)),
    ),
    initial: "",
    about:
      "Features that are off by default, with commas between: filters (conditions, order and selection on lists), live (event streams of changes for apps that an administrator has made live). After a change, run rowhouse migrate with the new value, then restart. Empty: none.",
  },
  HOST: {
    form: v.pipe(v.string(), v.regex(/^[\w.:-]+$/, "must be a host name or address")),
    initial: "0.0.0.0",
    about: "The address to listen on.",
  },
  PORT: {
    form: whole(0, 65_535),
    initial: "8787",
    about: "The port to listen on; 0 takes any free one.",
  },
  ROLE: {
    form: v.picklist([...ROLES], `must be one of ${ROLES.join(", ")}`),
    initial: "all",
    about:
      "What this process does: everything, or one part of a service that is split into several processes.",
  },
  UPSTREAM_DATA_URL: {
    form: v.optional(HttpUrl),
    about: "Where the gateway finds the data service. Required by ROLE=gateway.",
  },
  UPSTREAM_IDENTITY_URL: {
    form: v.optional(HttpUrl),
    about: "Where the gateway finds the identity service. Required by ROLE=gateway.",
  },
  UPSTREAM_GATEWAY_URL: {
    form: v.optional(HttpUrl),
    about:
      "Where the identity service finds the gateway, for the rows that the Console shows. Default: PUBLIC_URL.",
  },
  INTERNAL_HMAC_SECRET: {
    form: HmacSecrets,
    about:
      "The secret that the gateway shares with this service, or with both; several with commas between: the first signs, all verify. Required by every ROLE except all.",
  },
  INTERNAL_HMAC_SECRET_DATA: {
    form: HmacSecrets,
    about:
      "On the gateway: the data service's INTERNAL_HMAC_SECRET. Default: INTERNAL_HMAC_SECRET.",
  },
  INTERNAL_HMAC_SECRET_IDENTITY: {
    form: HmacSecrets,
    about:
      "On the gateway: the identity service's INTERNAL_HMAC_SECRET. Default: INTERNAL_HMAC_SECRET.",
  },
  IDENTITY_SECRET: {
    form: secrets(MIN_IDENTITY_SECRET_BYTES),
    about:
      "What sessions, links and passwords depend on, and no database holds: the first makes, all verify. Losing it loses every password. Needed by serve where ROLE is all or identity, and by admin create-user, password-link and set-role.",
  },
  MAIL_URL: {
    form: v.optional(MailUrl),
    about:
      "The mail server, such as smtps://user:password@mail.example.org or smtp://mail.example.org:587. With it people are mailed links that set a password, and what happens to their account. Unset: links are shown to administrators only. For the processes where ROLE is all or identity.",
  },
  ORGANIZATION_NAME: {
    form: v.optional(OrganizationName),
    about:
      "The name of your organization, at most 60 characters, in place of Rowhouse on the sign-in pages, in the Console and in mails. For the processes where ROLE is all or identity.",
  },
  ORGANIZATION_LOGO: {
    form: v.optional(PngFile),
    about:
      "The path of a PNG file of at most 32 KB, in place of the icon on the sign-in pages, in the Console and in mails. The file is read at the start. For the processes where ROLE is all or identity.",
  },
  MAIL_FROM: {
    form: v.optional(MailSender),
    about:
      'Sender of mails, in quotes where a shell reads it: "Rowhouse <no-reply@example.org>". Required with MAIL_URL.',
  },
  TRUSTED_PROXIES: {
    form: list(isProxy, "must be addresses or networks such as 10.0.0.0/8, with commas between"),
    initial: "",
    about: "Proxies whose X-Forwarded-For is trusted; none by default.",
  },
  ADMIN_HOST: {
    form: v.pipe(v.string(), v.regex(/^[\w.:-]+$/, "must be a host name or address")),
    initial: "127.0.0.1",
    about: "The address that ADMIN_PORT listens on; by default only this machine reaches it.",
  },
  ADMIN_PORT: {
    form: v.optional(whole(1, 65_535)),
    about:
      "A port for operators only: /live, /ready and /metrics. With several WORKERS each has its own, counting up from this one. Unset: none.",
  },
  WORKERS: {
    form: whole(1, 64),
    initial: "1",
    about:
      "Number of processes that share the port, each with a pool of DATABASE_POOL connections. SIGHUP replaces them one by one.",
  },
  MAX_SOCKETS: {
    form: v.optional(whole(16, 1_000_000)),
    about:
      "Maximum number of sockets that callers have open in a process; beyond it new connections are refused until a fifth is free. Default, and at most: four fifths of the files that the process may open. Linux only.",
  },
  PUBLIC_URL: { form: v.optional(HttpUrl), about: "The gateway's origin as callers see it." },
  IDENTITY_URL: {
    form: v.optional(HttpUrl),
    about:
      "The identity pages' origin; requests to its host get the pages, all others the API. Default: PUBLIC_URL, and every host serves both.",
  },
  SESSION_IDLE: {
    form: Duration,
    initial: `${DEFAULT_SETTINGS.sessionIdleS / HOUR_S}h`,
    about: "How long a session lasts without being used, such as 30m, 24h or 7d.",
  },
  SESSION_MAX: {
    form: Duration,
    initial: `${DEFAULT_SETTINGS.sessionMaxS / DAY_S}d`,
    about: "How long a session lasts at most.",
  },
  REQUIRE_SECOND_FACTOR: {
    form: v.optional(v.picklist(["console", "all", "none"], "must be console, all or none")),
    about:
      "Of whom a second factor is asked who has none: console of whoever has a Console role, all of everybody. It can be put off for 7 days; after that the Console is closed without it, and with all every page and app is. Default: console once people sign in with a provider or anybody has a second factor, else none.",
  },
  AUDIT_RETENTION: {
    form: Retention,
    initial: `${AUDIT_RETENTION_S / DAY_S}d`,
    about:
      "How long the audit log keeps an entry, at least 30d; 0 keeps them forever. The processes that serve identity delete older ones.",
  },
  COOKIE_DOMAIN: {
    form: v.optional(
      v.pipe(
        v.string(),
        v.regex(
          /^(?!\.)[a-z0-9-]+(\.[a-z0-9-]+)+$/,
          "must be a parent domain such as example.org or, on one machine, rowhouse.localhost, without a leading dot",
        ),
      ),
    ),
    about: "The parent domain of all apps; origins and redirects are registered under it.",
  },
  API_KEY_PREFIX: {
    form: v.pipe(
      v.string(),
      v.regex(KEY_PREFIX, "must be 1 to 16 letters, digits or -, without _"),
    ),
    initial: "rh",
    about: "What API keys begin with.",
  },
  LOG_LEVEL: {
    form: v.picklist([...LOG_LEVELS], `must be one of ${LOG_LEVELS.join(", ")}`),
    initial: "info",
    about: "The lowest level that is logged.",
  },
  ROWHOUSE_URL: { form: v.optional(HttpUrl), about: "Where `rowhouse db` finds the service." },
  ROWHOUSE_API_KEY: {
    form: v.optional(v.string()),
    about:
      "The API key that `rowhouse db` uses, with the scope schema:push, or schema:read for what changes nothing. Each place of rowhouse.json has its own: ROWHOUSE_API_KEY_STAGING is that of staging.",
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;
