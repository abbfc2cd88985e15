/** The results of a search in the Console. @module */
export type ConsoleMatches = {
  apps: { slug: string; disabledAt: string | null }[];
  people: { id: string; email: string; displayName: string | null }[];
  tables: { name: string; owner: string }[];
  keys: { keyId: string; name: string; app: string; revokedAt: string | null }[];
};
