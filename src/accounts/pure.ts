/** The pure part of this room: what settings need. @module */
export { isAppRole } from "./app_role.ts";
export { AUDIT_RETENTION_S, MIN_AUDIT_RETENTION_S } from "./audit_retention.ts";
export { MIN_IDENTITY_SECRET_BYTES } from "./identity_secrets.ts";
export { KEY_PREFIX } from "./key_text.ts";
