/** Which of the service's hosts a request came to, by its `Host`. @module */

/** The API's, the identity pages', or one that serves both. */
export const VIRTUAL_HOSTS = ["gateway", "identity", "both"] as const;
export type VirtualHost = (typeof VIRTUAL_HOSTS)[number];
