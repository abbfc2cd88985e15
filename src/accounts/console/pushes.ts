/** Pushes on the pages of an app. @module */

/** A push in a list. */
export type ConsolePush = {
  seq: number;
  name: string;
  checksum: string;
  appliedAt: string;
  /** The key that pushed; null for an operator. */
  key: { keyId: string; name: string } | null;
  statements: number;
  /** The comment at the top of its file. */
  head: string;
};

/** A push with its declaration as JSON, and the declaration of the push before. */
export type PushView = Pick<ConsolePush, "seq" | "name" | "checksum" | "appliedAt" | "key"> & {
  sql: string;
  definition: string;
  before: string | null;
  isLast: boolean;
};
