/** The settings of an OpenID Connect provider with which people sign in, as they come from the environment. @module */

/** A value of a claim that gives a role on an app. */
export type RoleRule = {
  /** The names that lead to the claim. */
  claim: readonly string[];
  value: string;
  slug: string;
  role: string;
};

export type ProviderSettings = {
  /** In the addresses of its pages and in the audit log, such as `google`. */
  name: string;
  /** Exactly as the provider itself writes it. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** What the button says after "Sign in with". */
  label: string;
  /** Whose e-mail addresses the provider is believed about. */
  trustedDomains: readonly string[];
  /** Whether people of these domains get an account without an invitation. */
  creates: boolean;
  /** What is asked for beside who it is. */
  scopes: readonly string[];
  /** The first that fits gives the role on its app. */
  roles: readonly RoleRule[];
};
