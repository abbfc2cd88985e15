/** The addresses of the service: three build variables, with the defaults of `bun run dev`. @module */

declare global {
  interface ImportMetaEnv {
    readonly VITE_SERVICE_URL?: string;
    readonly VITE_SERVICE_IDENTITY_URL?: string;
    readonly VITE_SERVICE_APP?: string;
  }
}

/** The gateway's base URL. */
export const SERVICE_URL = import.meta.env.VITE_SERVICE_URL ?? "http://api.rowhouse.localhost:8787";
/** The identity pages' base URL. */
export const IDENTITY_URL =
  import.meta.env.VITE_SERVICE_IDENTITY_URL ?? "http://id.rowhouse.localhost:8787";
/** This app's slug. */
export const APP = import.meta.env.VITE_SERVICE_APP ?? "todo";
