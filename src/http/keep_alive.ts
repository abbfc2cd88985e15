/** How long connections stay open between requests. @module */

/** Longer than the 60 s of AWS and nginx, so that the balancer closes a connection first, never during a request. */
export const KEEP_ALIVE_S = 75;
/** Longer than all other deadlines of the service, because the limit also holds while a request is handled. */
export const MIN_KEEP_ALIVE_S = 45;
/** Bun's limit. */
export const MAX_KEEP_ALIVE_S = 255;
