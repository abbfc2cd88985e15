/** The sign-in provider of the frozen databases. @module */
import type { Settings } from "../support/command.ts";
import { startProvider, type TestProvider } from "../support/provider.ts";

export function startOurs(): Promise<TestProvider> {
  return startProvider({
    name: "ours",
    trustedDomains: ["example.org"],
    creates: true,
  });
}

export function toProviderSettings({ settings }: TestProvider): Settings {
  return {
    OIDC_OURS_ISSUER: settings.issuer,
    OIDC_OURS_CLIENT_ID: settings.clientId,
    OIDC_OURS_CLIENT_SECRET: settings.clientSecret,
    OIDC_OURS_TRUSTED_DOMAINS: settings.trustedDomains.join(","),
    OIDC_OURS_CREATE: String(settings.creates),
  };
}
