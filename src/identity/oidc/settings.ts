/** The settings of an OpenID Connect provider, read from the environment. @module */

/** A claim value that grants a role on an app. */
export type RoleRule = {
  /** The path to the claim. */
  claim: readonly string[];
  value: string;
  slug: string;
  role: string;
};

export type ProviderSettings = {
  /** Used in URLs and in the audit log, such as `google`. */
  name: string;
  /** Exactly as the provider reports it. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The label of the button after "Sign in with". */
  label: string;
  /** Domains of email addresses for which the provider is trusted. */
  trustedDomains: readonly string[];
  /** Whether people of these domains get an account without an invitation. */
  creates: boolean;
  /** The provider's question at each sign-in; `undefined` if it decides. */
  prompt?: "select_account" | "login" | undefined;
  /** Additional scopes. */
  scopes: readonly string[];
  /** The first matching rule of an app grants its role. */
  roles: readonly RoleRule[];
};
