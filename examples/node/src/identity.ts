/** Made once, outside of components: all components share its requests. */
import { createIdentityClient } from "rowhouse-client/identity";

export const identity = createIdentityClient({
  url: import.meta.env["VITE_SERVICE_URL"] ?? "",
  identityUrl: import.meta.env["VITE_SERVICE_IDENTITY_URL"] ?? "",
  app: import.meta.env["VITE_SERVICE_APP"] ?? "",
});
