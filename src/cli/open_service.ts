/** Opens a service from the configuration, for `serve` and `dev`. @module */

import type { FindSchemaFile } from "../console/mod.ts";
import { readLimits } from "../limit_setting.ts";
import type { Log } from "../observe.ts";
import { openService, type Service } from "../service/mod.ts";
import type { Config } from "../settings/mod.ts";

type OpenOptions = {
  databaseUrl: string;
  adminDatabaseUrl: string;
  log: Log;
  findSchemaFile?: FindSchemaFile;
};

/** Opens a service with the settings that `serve` and `dev` share. */
export function openFrom(config: Config, options: OpenOptions): Service {
  return openService({
    databaseUrl: options.databaseUrl,
    adminDatabaseUrl: options.adminDatabaseUrl,
    consoleDatabaseUrl: config.CONSOLE_DATABASE_URL,
    identityDatabaseUrl: config.IDENTITY_DATABASE_URL,
    identityConnections: config.IDENTITY_DATABASE_POOL,
    connections: config.DATABASE_POOL,
    nodeConnections: config.CITUS_NODE_POOL,
    prepare: config.DATABASE_PREPARE,
    ...readLimits((_, variable) => config[variable]),
    previews: config.PREVIEW,
    keyPrefix: config.API_KEY_PREFIX,
    identity: {
      publicUrl: config.PUBLIC_URL,
      identityUrl: config.IDENTITY_URL,
      cookieDomain: config.COOKIE_DOMAIN,
      sessionIdleS: config.SESSION_IDLE,
      sessionMaxS: config.SESSION_MAX,
      requireSecondFactor: config.REQUIRE_SECOND_FACTOR,
      providers: config.providers,
    },
    brand: { name: config.ORGANIZATION_NAME, logo: config.ORGANIZATION_LOGO },
    mail: readMail(config),
    auditRetentionS: config.AUDIT_RETENTION,
    log: options.log,
    ...(options.findSchemaFile && { findSchemaFile: options.findSchemaFile }),
    role: config.ROLE,
    secrets: readSharedSecrets(config),
    identitySecrets: config.IDENTITY_SECRET,
    trustedProxies: config.TRUSTED_PROXIES,
    upstreams: { data: config.UPSTREAM_DATA_URL, identity: config.UPSTREAM_IDENTITY_URL },
    gatewayUrl: config.UPSTREAM_GATEWAY_URL,
  });
}

/** Both settings or none: one without the other was rejected earlier. */
function readMail({ MAIL_URL: url, MAIL_FROM: from }: Config) {
  return url === undefined || from === undefined ? undefined : { url, from };
}

/** The secrets that a gateway shares with each service. A service has only its own. */
export function readSharedSecrets(config: Config) {
  const { INTERNAL_HMAC_SECRET: common = [] } = config;
  return {
    data: config.INTERNAL_HMAC_SECRET_DATA ?? common,
    identity: config.INTERNAL_HMAC_SECRET_IDENTITY ?? common,
  };
}
