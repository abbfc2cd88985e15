/** The addresses of the service: build variables, with the defaults of `rowhouse dev`. @module */

const { VITE_SERVICE_URL, VITE_SERVICE_IDENTITY_URL, VITE_SERVICE_APP } = import.meta.env;

export const SETTINGS = {
  /** The gateway's base URL. */
  url: VITE_SERVICE_URL ?? "http://api.rowhouse.localhost:8787",
  /** The identity pages' base URL. */
  identityUrl: VITE_SERVICE_IDENTITY_URL ?? "http://id.rowhouse.localhost:8787",
  /** This app's slug. */
  app: VITE_SERVICE_APP ?? "board",
};
