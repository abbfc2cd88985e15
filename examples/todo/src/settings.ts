/** Where the service is: three variables of the build, with the defaults of `bun run dev`. @module */

type BuildVariables = {
  readonly VITE_SERVICE_URL?: string;
  readonly VITE_SERVICE_IDENTITY_URL?: string;
  readonly VITE_SERVICE_APP?: string;
};

const variables: BuildVariables = import.meta.env;

/** The gateway's base URL. */
export const SERVICE_URL = variables.VITE_SERVICE_URL ?? "http://api.rowhouse.localhost:8787";
/** The identity pages' base URL. */
export const IDENTITY_URL =
  variables.VITE_SERVICE_IDENTITY_URL ?? "http://id.rowhouse.localhost:8787";
/** This app's slug. */
export const APP = variables.VITE_SERVICE_APP ?? "todo";
