/** The retention of entries in the audit log. @module */

/** Younger entries are never deleted, whatever the retention: 30 days. */
export const MIN_AUDIT_RETENTION_S = 2_592_000;
/** The default: 400 days. */
export const AUDIT_RETENTION_S = 34_560_000;
