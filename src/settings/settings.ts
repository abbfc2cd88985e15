/** The settings: name, schema, default and meaning. `.env.example` and docs/operating.md are generated from it. @module */
import * as v from "valibot";
import { IDEMPOTENCY_BYTES, LIST_BYTES, LIST_CACHE_BYTES, QUERY_TIMEOUT_S } from "../data/deps.ts";
import { isProxy } from "../gateway/client_address.ts";
import { MIN_SECRET_BYTES } from "../gateway/signature.ts";
import { KEEP_ALIVE_S, MAX_KEEP_ALIVE_S, MIN_KEEP_ALIVE_S } from "../http/mod.ts";
import { DEFAULT_SETTINGS } from "../identity/settings.ts";
import { LOG_LEVELS } from "../observe.ts";
import { isPreview, PREVIEWS } from "../preview.ts";
import { KEY_PREFIX } from "../records/apps/key_text.ts";
import { MIN_IDENTITY_SECRET_BYTES } from "../records/secrets/identity_secrets.ts";
import { ROLES } from "../role.ts";
import { DAY_S, HOUR_S, toDurationText } from "../std/duration.ts";
import {
  AUDIT_RETENTION_S,
  FACTOR_GRACE_S,
  IDEMPOTENCY_COUNT_S,
  IDEMPOTENCY_HOURS,
  MIN_AUDIT_RETENTION_S,
} from "../std/limits.ts";
import { cleanPasted } from "../std/pasted_text.ts";
import { PUSH_LIMITS } from "../tables/limits.ts";
import { toApiKey, toTerm } from "./environment.ts";
import {
  bytes,
  choice,
  Duration,
  Host,
  HttpUrl,
  list,
  MailSender,
  MailUrl,
  OnOrOff,
  OrganizationName,
  PngFile,
  PostgresUrl,
  Retention,
  type Setting,
  secrets,
  toCookieDomain,
  toProxy,
  whole,
} from "./forms.ts";

/** The max execution time of every other statement. */
const MAX_QUERY_TIMEOUT_S = 30;

const HmacSecrets = secrets(MIN_SECRET_BYTES);

export const SETTINGS = {
  DATABASE_URL: {
    form: v.optional(PostgresUrl),
    isSecret: true,
    about:
      "The serving login's connection string; can go through a transaction pooler. Required by serve.",
  },
  ADMIN_DATABASE_URL: {
    form: v.optional(PostgresUrl),
    isSecret: true,
    about:
      "For serve: the connection string of the pushing login, a member of rowhouse_tables and no other role. For migrate and admin: the connection string of an administrator, a member of rowhouse_owner. Must connect directly to PostgreSQL, not through a pooler. Default: DATABASE_URL.",
  },
  CONSOLE_DATABASE_URL: {
    form: v.optional(PostgresUrl),
    isSecret: true,
    about:
      "The connection string of the Console's login. Use a separate login: rowhouse migrate grants it only the rights of the Console. Unset: no Console. In a split service, set it only for the identity service.",
  },
  IDENTITY_DATABASE_URL: {
    form: v.optional(PostgresUrl),
    isSecret: true,
    about:
      "Only where ROLE is all: the connection string of a separate login for identity, so that code injected into apps' tables never runs in a session that can read accounts. Run rowhouse migrate with it. Unset: identity shares DATABASE_URL, and a stolen pushing login can do everything that the serving login can.",
  },
  IDENTITY_DATABASE_POOL: {
    form: whole(1, 500),
    initial: "10",
    about:
      "Max connections of IDENTITY_DATABASE_URL, in addition to DATABASE_POOL: 30 per worker in total by default.",
  },
  ROWS_DATABASE_URL: {
    form: v.optional(PostgresUrl),
    isSecret: true,
    about:
      "For admin: the connection string of the login that counts and deletes apps' rows. Use a separate login that connects directly to PostgreSQL: rowhouse migrate grants it only these rights. serve does not start if it is set. Unset: each command creates a temporary login and drops it.",
  },
  DATABASE_POOL: {
    form: whole(1, 500),
    initial: "20",
    about: "Max connections in the pool.",
  },
  CITUS_NODE_POOL: {
    form: whole(0, 500),
    initial: "0",
    about:
      "On a Citus cluster: max connections per worker to each node. Calls of apps' tables then go straight to the node with the app's rows, as the login of DATABASE_URL, at the address in pg_dist_node. 0: all calls go through the coordinator.",
  },
  MAX_RESPONSE_BYTES: {
    form: bytes(65_536, 268_435_456),
    initial: String(LIST_BYTES),
    about:
      "Max size in bytes of a row as JSON, and of a page of a list, which can exceed it by one row. A write that would create a larger row is rejected.",
  },
  QUERY_TIMEOUT: {
    form: v.pipe(Duration, v.maxValue(MAX_QUERY_TIMEOUT_S, "must be at most 30s")),
    initial: `${QUERY_TIMEOUT_S}s`,
    about:
      "Max execution time of a list with conditions or an order (PREVIEW=filters), at most 30s. Then the service cancels the statement, and the response is 504.",
  },
  LIST_CACHE_BYTES: {
    form: bytes(0, 17_179_869_184),
    initial: String(LIST_CACHE_BYTES),
    about:
      "Memory in bytes that each process can use to cache pages of lists. The database confirms each cached page before it is sent. 0 disables the cache.",
  },
  IDEMPOTENCY_BYTES: {
    form: bytes(0, 1_099_511_627_776),
    initial: String(IDEMPOTENCY_BYTES),
    about: `Max size in bytes of the stored responses to writes with an Idempotency-Key, per app; responses are stored for ${IDEMPOTENCY_HOURS} hours. Over the limit, new keys get 429. The database counts the usage every ${toDurationText(IDEMPOTENCY_COUNT_S)}; in between, each process adds only its own writes.`,
  },
  GROUP_CREATES: {
    form: OnOrOff,
    initial: "on",
    about:
      "Whether to group creates of an app: creates that arrive together, or while two statements are in progress, share one statement and one commit. Each create still succeeds or fails separately. Has no effect on Citus.",
  },
  PUSHES_PER_HOUR: {
    form: whole(1, 1_000_000),
    initial: String(PUSH_LIMITS.pushesPerHour),
    about:
      "Max pushes and dry runs per app and hour. Each counts once, even if it fails; the allowance refills evenly.",
  },
  JOURNAL_BYTES: {
    form: bytes(65_536, Number.MAX_SAFE_INTEGER),
    initial: String(PUSH_LIMITS.journalBytes),
    about:
      "Max total size in bytes of an app's migrations. PUSHES_PER_HOUR and JOURNAL_BYTES do not apply to operators' pushes (--app).",
  },
  DATABASE_PREPARE: {
    form: OnOrOff,
    initial: "on",
    about:
      "Whether to use prepared statements. Set it to off behind PgBouncer before 1.21 in transaction mode.",
  },
  PREVIEW: {
    form: v.pipe(
      list(isPreview, `must be one of ${PREVIEWS.join(", ")}, or several, comma-separated`, {
        toItem: toTerm,
      }),
      v.transform((names) => names.filter(isPreview)),
    ),
    initial: "",
    about:
      "Comma-separated preview features to enable: filters (conditions, order and selection on lists), live (event streams of changes for apps with live updates turned on). After a change, run rowhouse migrate with the new value, then restart. Empty: none.",
  },
  HOST: {
    form: Host,
    initial: "0.0.0.0",
    about: "The address to listen on.",
  },
  PORT: {
    form: whole(0, 65_535),
    initial: "8787",
    about: "The port to listen on; 0 selects a free port.",
  },
  ROLE: {
    form: choice(ROLES),
    initial: "all",
    about: "What this process runs: everything, or one part of a split service.",
  },
  UPSTREAM_DATA_URL: {
    form: v.optional(HttpUrl),
    about: "The data service's origin, for the gateway. Required by ROLE=gateway.",
  },
  UPSTREAM_IDENTITY_URL: {
    form: v.optional(HttpUrl),
    about: "The identity service's origin, for the gateway. Required by ROLE=gateway.",
  },
  UPSTREAM_GATEWAY_URL: {
    form: v.optional(HttpUrl),
    about:
      "The gateway's origin, for the identity service, which reads rows for the Console from it. Default: PUBLIC_URL.",
  },
  INTERNAL_HMAC_SECRET: {
    form: HmacSecrets,
    isSecret: true,
    about:
      "The secret that the gateway shares with this service, or with both services. Can be a comma-separated list: the first secret signs, all verify. Required by every ROLE except all.",
  },
  INTERNAL_HMAC_SECRET_DATA: {
    form: HmacSecrets,
    isSecret: true,
    about:
      "On the gateway: the data service's INTERNAL_HMAC_SECRET. Default: INTERNAL_HMAC_SECRET.",
  },
  INTERNAL_HMAC_SECRET_IDENTITY: {
    form: HmacSecrets,
    isSecret: true,
    about:
      "On the gateway: the identity service's INTERNAL_HMAC_SECRET. Default: INTERNAL_HMAC_SECRET.",
  },
  IDENTITY_SECRET: {
    form: secrets(MIN_IDENTITY_SECRET_BYTES),
    isSecret: true,
    about:
      "The secret that protects sessions, links and passwords; it is never stored in the database. Can be a comma-separated list: the first secret creates new values, all verify. If it is lost, every password is lost. Required by serve where ROLE is all or identity, and by admin create-user, password-link and set-role.",
  },
  MAIL_URL: {
    form: v.optional(MailUrl),
    isSecret: true,
    about:
      "The mail server, such as smtps://user:password@mail.example.org or smtp://mail.example.org:587. With it, the service emails password links and account notices. Unset: only administrators see the links. For processes where ROLE is all or identity.",
  },
  ORGANIZATION_NAME: {
    form: v.optional(OrganizationName),
    about:
      "The name of your organization, max 60 characters. It replaces Rowhouse on the sign-in pages, in the Console and in emails. For processes where ROLE is all or identity.",
  },
  ORGANIZATION_LOGO: {
    form: v.optional(PngFile),
    about:
      "The path of a PNG file, max 32 KB. It replaces the icon on the sign-in pages, in the Console and in emails. The file is read at startup. For processes where ROLE is all or identity.",
  },
  MAIL_FROM: {
    form: v.optional(MailSender),
    about:
      'Sender of emails. A shell needs quotes: "Rowhouse <no-reply@example.org>". Required with MAIL_URL.',
  },
  TRUSTED_PROXIES: {
    form: list(isProxy, "must be comma-separated addresses or networks such as 10.0.0.0/8", {
      toItem: toProxy,
    }),
    initial: "",
    about: "Proxies whose X-Forwarded-For is trusted; none by default.",
  },
  ADMIN_HOST: {
    form: Host,
    initial: "127.0.0.1",
    about: "The address that ADMIN_PORT listens on; by default only this machine reaches it.",
  },
  ADMIN_PORT: {
    form: v.optional(whole(1, 65_535)),
    about:
      "A port for operators only: /live, /ready and /metrics. With several WORKERS, each has its own port, counting up from this port. Unset: none.",
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
      "Max open client sockets per process. At the limit, new connections are rejected until a fifth of the sockets is free. Default and maximum: four fifths of the process's open file limit. Linux only.",
  },
  KEEP_ALIVE: {
    form: v.pipe(
      Duration,
      v.minValue(MIN_KEEP_ALIVE_S, "must be at least 45s"),
      v.maxValue(MAX_KEEP_ALIVE_S, "must be at most 255s"),
    ),
    initial: `${KEEP_ALIVE_S}s`,
    about:
      "How long a connection stays open after a response, from 45s to 255s. Must be longer than the time after which a proxy or load balancer in front closes a silent connection.",
  },
  PUBLIC_URL: { form: v.optional(HttpUrl), about: "The gateway's public origin." },
  IDENTITY_URL: {
    form: v.optional(HttpUrl),
    about:
      "The origin of the identity pages. Requests to its host get the pages; all other requests get the API. Default: PUBLIC_URL, and every host serves both.",
  },
  SESSION_IDLE: {
    form: Duration,
    initial: `${DEFAULT_SETTINGS.sessionIdleS / HOUR_S}h`,
    about: "How long an unused session lasts, such as 30m, 24h or 7d.",
  },
  SESSION_MAX: {
    form: Duration,
    initial: `${DEFAULT_SETTINGS.sessionMaxS / DAY_S}d`,
    about: "Max duration of a session.",
  },
  REQUIRE_SECOND_FACTOR: {
    form: v.optional(choice(["console", "all", "none"])),
    about: `Who must set up a second factor within ${toDurationText(FACTOR_GRACE_S)}: users with a Console role (console), every user (all) or no one (none). Default: console if a provider is configured or any user has a second factor, otherwise none.`,
  },
  AUDIT_RETENTION: {
    form: Retention,
    initial: `${AUDIT_RETENTION_S / DAY_S}d`,
    about: `How long the audit log keeps an entry, min ${MIN_AUDIT_RETENTION_S / DAY_S}d; 0 keeps entries forever. The processes that serve identity delete older entries.`,
  },
  COOKIE_DOMAIN: {
    form: v.optional(
      v.pipe(
        v.string(),
        v.transform(toCookieDomain),
        v.regex(
          /^(?!\.)[a-z0-9-]+(\.[a-z0-9-]+)+$/,
          "must be a parent domain such as example.org or, on one machine, rowhouse.localhost, without a leading dot",
        ),
      ),
    ),
    about: "The parent domain of all apps. Registered origins and redirects must be under it.",
  },
  API_KEY_PREFIX: {
    form: v.pipe(
      v.string(),
      v.transform(cleanPasted),
      v.regex(KEY_PREFIX, "must be 1 to 16 letters, digits or -, without _"),
    ),
    initial: "rh",
    about: "API key prefix.",
  },
  LOG_LEVEL: {
    form: choice(LOG_LEVELS),
    initial: "info",
    about: "The minimum level that is logged.",
  },
  ROWHOUSE_URL: { form: v.optional(HttpUrl), about: "The service's origin, for `rowhouse db`." },
  ROWHOUSE_API_KEY: {
    form: v.optional(v.pipe(v.string(), v.transform(toApiKey))),
    isSecret: true,
    about:
      "The API key that `rowhouse db` uses. It needs the scope schema:push; schema:read suffices for read-only commands. Each environment in rowhouse.json has its own variable, such as ROWHOUSE_API_KEY_STAGING for staging.",
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;
