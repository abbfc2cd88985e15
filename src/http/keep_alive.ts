/** How long connections stay open between requests. @module */

/**
 * Longer than the 60 s of AWS and nginx, so that the balancer closes a connection first, never during a request. Longer than
 * all other deadlines of the service, because the limit also holds while a request is handled. Bun's limit is 255.
 */
export const KEEP_ALIVE_S = 75;
