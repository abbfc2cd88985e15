/** The settings: name, schema, default and meaning. `.env.example` is generated from it. @module */
import * as v from "valibot";
import { isProxy } from "../gateway/client_address.ts";
import { MIN_SECRET_BYTES } from "../gateway/signature.ts";
import { DEFAULT_SETTINGS } from "../identity/settings.ts";
import { LOG_LEVELS } from "../observe.ts";
import { KEY_PREFIX } from "../records/apps/key_text.ts";
import { MIN_IDENTITY_SECRET_BYTES } from "../records/secrets/identity_secrets.ts";
import { ROLES } from "../role.ts";
import { DAY_S, HOUR_S, toDurationText } from "../std/duration.ts";
import { AUDIT_RETENTION_S, FACTOR_GRACE_S, MIN_AUDIT_RETENTION_S } from "../std/limits.ts";
import { cleanPasted } from "../std/pasted_text.ts";
import { DATABASE_SETTINGS } from "./database_settings.ts";
import { toApiKey } from "./environment.ts";
import {
  choice,
  Duration,
  Host,
  HttpUrl,
  list,
  MailSender,
  MailUrl,
  OrganizationName,
  PngFile,
  Retention,
  type Setting,
  secrets,
  toCookieDomain,
  toProxy,
  whole,
} from "./forms.ts";

const HmacSecrets = secrets(MIN_SECRET_BYTES);

export const SETTINGS = {
  ...DATABASE_SETTINGS,
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
