/**
 * The only reader of the environment: settings as a table of name, form, default and meaning, from which the page
 * and `.env.example` are generated. Reports all faults at once, and never a value: it may be a secret.
 *
 * @module
 */
import * as v from "valibot";
import {
  AUDIT_RETENTION_S,
  KEY_PREFIX,
  MIN_AUDIT_RETENTION_S,
  MIN_IDENTITY_SECRET_BYTES,
} from "./accounts/mod.ts";
import { IDEMPOTENCY_BYTES, LIST_BYTES, LIST_CACHE_BYTES } from "./data/mod.ts";
import { isProxy, MIN_SECRET_BYTES } from "./gateway/mod.ts";
import { DEFAULT_SETTINGS, type ProviderSettings } from "./identity/mod.ts";
import { readMailFrom } from "./mail/mod.ts";
import { LOG_LEVELS } from "./observe.ts";
import { PUSH_LIMITS } from "./push/mod.ts";
import { ROLES } from "./role.ts";
import { DAY_S, HOUR_S, readDuration } from "./std/duration.ts";
import { isHttpOrigin } from "./std/is_http_origin.ts";

const PostgresUrl = v.pipe(
  v.string(),
  v.check((text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    return (
      url !== undefined &&
      /^postgres(ql)?:$/.test(url.protocol) &&
      url.username !== "" &&
      url.pathname.length > 1
    );
  }, "must be postgres://user:password@host:port/database"),
);
const HttpUrl = v.pipe(
  v.string(),
  v.check(
    isHttpOrigin,
    "must be an origin such as https://api.example.org, without a path or a final slash",
  ),
);

/** Nothing but where and as whom: options of the client that speaks SMTP are not for settings. */
const MailUrl = v.pipe(
  v.string(),
  v.check((text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    return (
      url !== undefined &&
      /^smtps?:$/.test(url.protocol) &&
      url.hostname !== "" &&
      (url.username === "") === (url.password === "") &&
      /^\/?$/.test(url.pathname) &&
      url.search === "" &&
      url.hash === ""
    );
  }, "must be smtp://host:port or smtps://user:password@host"),
);
const MailSender = v.pipe(
  v.string(),
  v.transform((text) => readMailFrom(text)),
  v.check(
    (from) => from !== undefined,
    "must be an address such as no-reply@example.org, or Name <no-reply@example.org>",
  ),
);

function whole(least: number, most: number) {
  return v.pipe(
    v.string(),
    v.check(
      (text) => /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most,
      `must be a whole number from ${least} to ${most}`,
    ),
    v.transform(Number),
  );
}

/** A comma-separated list, each item of which must pass. */
function list(isItem: (text: string) => boolean, message: string) {
  const toItems = (text: string) => text.split(",").map((item) => item.trim());
  return v.pipe(
    v.string(),
    v.check((text) => text === "" || toItems(text).every(isItem), message),
    v.transform((text) => (text === "" ? [] : toItems(text))),
  );
}

function secrets(leastBytes: number) {
  return v.optional(
    list(
      (text) => Buffer.byteLength(text) >= leastBytes,
      `must be one secret, or several with commas between, each of at least ${leastBytes} bytes`,
    ),
  );
}

const HmacSecrets = secrets(MIN_SECRET_BYTES);

const YEAR_S = 365 * DAY_S;

/** A duration such as 90s, 30m, 24h or 7d, in seconds. */
const Duration = v.pipe(
  v.string(),
  v.transform((text) => readDuration(text) ?? 0),
  v.check(
    (seconds) => seconds >= 1 && seconds <= YEAR_S,
    "must be a duration such as 30m, 24h or 7d, at most a year",
  ),
);

/** A duration of at least thirty days, or 0, in seconds. */
const Retention = v.pipe(
  v.string(),
  v.transform((text) => (text === "0" ? 0 : (readDuration(text) ?? -1))),
  v.check(
    (seconds) => seconds === 0 || (seconds >= MIN_AUDIT_RETENTION_S && seconds <= 10 * YEAR_S),
    "must be 0, or a duration such as 400d, from 30d to 3650d",
  ),
);

/** Every setting. `initial` is used if the variable is absent or empty; without it the setting may stay unset. */
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
      "What sessions, links and passwords depend on, and no database holds: the first makes, all verify. Losing it loses every password. Needed by serve where ROLE is all or identity, and by admin create-user and password-link.",
  },
  MAIL_URL: {
    form: v.optional(MailUrl),
    about:
      "The mail server, such as smtps://user:password@mail.example.org or smtp://mail.example.org:587. With it people are mailed links that set a password, and what happens to their account. Unset: links are shown to administrators only. For the processes where ROLE is all or identity.",
  },
  MAIL_FROM: {
    form: v.optional(MailSender),
    about: "From whom mails are, such as Rowhouse <no-reply@example.org>. Required with MAIL_URL.",
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
      "The API key that `rowhouse db` uses, with the scope schema:push. Each place of rowhouse.json has its own: ROWHOUSE_API_KEY_STAGING is that of staging.",
  },
} as const satisfies Record<string, Setting>;

const DOMAIN =
  /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The settings of each provider with which people sign in: `OIDC_<NAME>_ISSUER` and so on, with a name of its own. */
export const PROVIDER_SETTINGS = {
  ISSUER: {
    form: v.pipe(
      v.string("must be set, too"),
      v.check(
        isIssuer,
        "must be the issuer as the provider writes it, such as https://accounts.example.com; http only on localhost",
      ),
    ),
    about:
      "The issuer of an OpenID Connect provider with which people sign in, exactly as the provider writes it. NAME is a name of yours, such as OIDC_GOOGLE_ISSUER; there may be several. The provider is given the address of the pages with `/oidc/<name>/callback` to send people back to.",
  },
  CLIENT_ID: {
    form: v.string("must be set, too"),
    about: "What the provider calls this service. Required for each provider.",
  },
  CLIENT_SECRET: {
    form: v.string("must be set, too"),
    about: "The secret that the provider gave for it. Required for each provider.",
  },
  LABEL: {
    form: v.optional(
      v.pipe(v.string(), v.regex(/^[^\p{C}]{1,40}$/u, "must be 1 to 40 printable characters")),
    ),
    about: "What its button says after “Sign in with”. Default: the name.",
  },
  TRUSTED_DOMAINS: {
    form: list(
      (text) => DOMAIN.test(text),
      "must be domains such as example.org, with commas between",
    ),
    initial: "",
    about:
      "The domains about whose e-mail addresses the provider is believed: an invited person of theirs is linked at the first sign-in.",
  },
  CREATE: {
    form: v.pipe(
      v.picklist(["true", "false"], "must be true or false"),
      v.transform((text) => text === "true"),
    ),
    initial: "false",
    about:
      "Whether people of the trusted domains get an account at their first sign-in without an invitation. They have no role on any app.",
  },
} as const satisfies Record<string, Setting>;

/** http is for a provider on one's own machine. */
function isIssuer(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || /[?#]/.test(text) || url.username !== "") return false;
  const isLocal = /(^|\.)localhost$/.test(url.hostname);
  return url.protocol === "https:" || (url.protocol === "http:" && isLocal);
}

type Setting = {
  form: v.GenericSchema<string | undefined, unknown>;
  initial?: string;
  about: string;
};

export type SettingName = keyof typeof SETTINGS;
export type Config = {
  readonly [Name in SettingName]: v.InferOutput<(typeof SETTINGS)[Name]["form"]>;
} & {
  /** Of the settings `OIDC_<NAME>_…`. */
  readonly providers: readonly ProviderSettings[];
};
export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether what a process of the environment's ROLE needs must be there: `migrate` only reads which role it is. */
type ReadOptions = { checksRole?: boolean };

/** All faults, and the settings that have none of their own. */
type Faulty = { faults: string[]; sound: Partial<Config> };

/** The configuration of an environment, or all its faults: which variable and what is expected, never its value. */
export function readConfig(
  env: Environment,
  { checksRole = true }: ReadOptions = {},
): { config: Config } | Faulty {
  const faults: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries<Setting>(SETTINGS)) {
    const parsed = v.safeParse(setting.form, readVariable(env, name) ?? setting.initial);
    if (parsed.success) config[name] = parsed.output;
    else faults.push(`${name} ${parsed.issues[0].message}`);
  }
  for (const name of Object.keys(env)) {
    if (name.startsWith("ROWHOUSE_") && !(name in SETTINGS) && !PLACE_KEY.test(name))
      faults.push(`${name} is not a setting: see .env.example`);
  }
  const providers = readProviders(env);
  config["providers"] = providers.settings;
  faults.push(...providers.faults);
  if (checksRole) faults.push(...findRoleFaults(env));
  return faults.length > 0 ? { faults, sound: config } : { config: config as Config };
}

/** A provider's setting: its name, and which one. No name ends with the beginning of another setting. */
const PROVIDER_VARIABLE = new RegExp(
  `^OIDC_([A-Z][A-Z0-9_]{0,31}?)_(${Object.keys(PROVIDER_SETTINGS).join("|")})$`,
);

/** Every provider that has a setting, by its name; and all their faults. */
function readProviders(env: Environment): { settings: ProviderSettings[]; faults: string[] } {
  const given = Object.keys(env).filter(
    (name) => name.startsWith("OIDC_") && readVariable(env, name) !== undefined,
  );
  const faults = given
    .filter((name) => !PROVIDER_VARIABLE.test(name))
    .map((name) => `${name} is not a setting: see .env.example`);
  const names = given.flatMap((name) => PROVIDER_VARIABLE.exec(name)?.[1] ?? []);
  const settings: ProviderSettings[] = [];
  for (const name of [...new Set(names)].sort()) {
    const read = readProvider(env, name);
    if ("faults" in read) faults.push(...read.faults);
    else if (settings.some(({ issuer }) => issuer === read.issuer))
      faults.push(`OIDC_${name}_ISSUER must not be that of another provider`);
    else settings.push(read);
  }
  return { settings, faults };
}

function readProvider(env: Environment, name: string): ProviderSettings | { faults: string[] } {
  const faults: string[] = [];
  const read = <Form extends v.GenericSchema>(
    key: string,
    { form, initial }: { form: Form; initial?: string },
  ): v.InferOutput<Form> | undefined => {
    const parsed = v.safeParse(form, readVariable(env, `OIDC_${name}_${key}`) ?? initial);
    if (parsed.success) return parsed.output;
    faults.push(`OIDC_${name}_${key} ${parsed.issues[0].message}`);
    return undefined;
  };
  const { ISSUER, CLIENT_ID, CLIENT_SECRET, LABEL, TRUSTED_DOMAINS, CREATE } = PROVIDER_SETTINGS;
  const settings = {
    name: name.toLowerCase().replaceAll("_", "-"),
    issuer: read("ISSUER", ISSUER) ?? "",
    clientId: read("CLIENT_ID", CLIENT_ID) ?? "",
    clientSecret: read("CLIENT_SECRET", CLIENT_SECRET) ?? "",
    label: read("LABEL", LABEL) ?? name.charAt(0) + name.slice(1).toLowerCase(),
    trustedDomains: read("TRUSTED_DOMAINS", TRUSTED_DOMAINS) ?? [],
    creates: read("CREATE", CREATE) ?? false,
  };
  if (settings.creates && settings.trustedDomains.length === 0)
    faults.push(
      `OIDC_${name}_TRUSTED_DOMAINS must be set where OIDC_${name}_CREATE is true: else everybody at the provider would get an account`,
    );
  return faults.length > 0 ? { faults } : settings;
}

/** What the gateway shares with each service, if that is not one secret for both. */
const AUDIENCE_SECRETS = ["INTERNAL_HMAC_SECRET_DATA", "INTERNAL_HMAC_SECRET_IDENTITY"] as const;

type RoleNeeds = {
  needed: readonly SettingName[];
  /** The only role that may have each of these settings. */
  foreign: Readonly<Partial<Record<SettingName, string>>>;
};

/** What a role requires, and what it must not know: a service that knew another's secret could sign for it. */
const OF_GATEWAY = {
  INTERNAL_HMAC_SECRET_DATA: "the gateway",
  INTERNAL_HMAC_SECRET_IDENTITY: "the gateway",
};
const OF_IDENTITY = {
  IDENTITY_SECRET: "the identity service",
  CONSOLE_DATABASE_URL: "the identity service",
};
const ROLE_NEEDS: Readonly<Record<string, RoleNeeds>> = {
  gateway: { needed: ["UPSTREAM_DATA_URL", "UPSTREAM_IDENTITY_URL"], foreign: OF_IDENTITY },
  data: { needed: ["INTERNAL_HMAC_SECRET"], foreign: { ...OF_GATEWAY, ...OF_IDENTITY } },
  identity: { needed: ["INTERNAL_HMAC_SECRET"], foreign: OF_GATEWAY },
};

function findRoleFaults(env: Environment): string[] {
  const role = readVariable(env, "ROLE") ?? "all";
  const isUnset = (name: string) => readVariable(env, name) === undefined;
  const { needed, foreign } = ROLE_NEEDS[role] ?? { needed: [], foreign: {} };
  // A gateway has a secret for each service, its own or the one for both.
  const secret =
    role === "gateway" && AUDIENCE_SECRETS.some(isUnset) && isUnset("INTERNAL_HMAC_SECRET")
      ? [
          `INTERNAL_HMAC_SECRET must be set when ROLE is gateway, or ${AUDIENCE_SECRETS.join(" and ")}`,
        ]
      : [];
  const providers = role === "gateway" || role === "data" ? findProviderVariables(env) : [];
  return [
    ...secret,
    ...providers.map(
      (name) =>
        `${name} must not be set when ROLE is ${role}: only the identity service may have it`,
    ),
    ...needed.filter(isUnset).map((name) => `${name} must be set when ROLE is ${role}`),
    ...Object.entries(foreign)
      .filter(([name]) => !isUnset(name))
      .map(
        ([name, holder]) =>
          `${name} must not be set when ROLE is ${role}: only ${holder} may have it`,
      ),
  ];
}

function findProviderVariables(env: Environment): string[] {
  return Object.keys(env).filter(
    (name) => PROVIDER_VARIABLE.test(name) && readVariable(env, name) !== undefined,
  );
}

/** Which places there are is up to each project's rowhouse.json. */
const PLACE_KEY = /^ROWHOUSE_API_KEY_[A-Z][A-Z0-9_]*$/;

/** The variable that holds the API key of a named place. */
export function toKeyVariable(place: string): string {
  return `ROWHOUSE_API_KEY_${place.toUpperCase().replaceAll("-", "_")}`;
}

/** The API key of a named place. */
export function readPlaceKey(env: Environment, place: string): string | undefined {
  return readVariable(env, toKeyVariable(place));
}

/** An empty variable counts as unset. */
function readVariable(env: Environment, name: string): string | undefined {
  return env[name] === "" ? undefined : env[name];
}
