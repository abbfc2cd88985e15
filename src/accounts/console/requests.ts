/** Failed, slow and rejected requests in the Console. @module */

export type StoredRequest = {
  id: string;
  app: string | null;
  at: string;
  method: string;
  route: string;
  status: number;
  code: string | null;
  ms: number;
  /** The key that was presented. */
  keyId: string | null;
  table: string | null;
  /** JSON pointers to the invalid fields. */
  paths: string[];
  /** The number of requests that the entry represents: the stored request, and equal requests that were not stored. */
  requests: number;
  /** Whether the Console sent it for its pages of rows. */
  isOfConsole: boolean;
};

export const REQUEST_KINDS = ["rejected", "failed", "slow"] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

export type RequestView = StoredRequest & {
  /** Null if the key was deleted. */
  key: {
    name: string;
    app: string;
    scopes: string[];
    expiresAt: string | null;
    revokedAt: string | null;
  } | null;
  /** The last push of the app before the request. */
  lastPush: { seq: number; at: string } | null;
};

export type RequestContent = {
  /** The entry with the id, or the entry that counts the request with the id; null without one. */
  request: RequestView | null;
  /** Without an entry: the number of requests in the span of the id, 0 for none or before they are added. */
  counted: number;
  /** Without an entry: the latest stored requests in the span of the id. */
  near: StoredRequest[];
};
