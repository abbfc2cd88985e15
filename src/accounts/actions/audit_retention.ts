/** The retention of entries in the audit log. @module */

/** 30 days. */
export const MIN_AUDIT_RETENTION_S = 2_592_000;
/** 400 days. */
export const AUDIT_RETENTION_S = 34_560_000;
