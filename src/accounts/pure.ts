/** The pure part of this module, for settings. @module */

export { KEY_PREFIX } from "./apps/key_text.ts";
export { isAppRole } from "./people/app_role.ts";
export { MIN_IDENTITY_SECRET_BYTES } from "./secrets/identity_secrets.ts";
