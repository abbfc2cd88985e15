/** Requests and changes on one time axis, as the Console shows them. @module */

/** A push, an entry of the audit log, or a key that expired. */
export type Change = {
  at: string;
  /** `push`, `expire_key`, or the action of the entry. */
  action: string;
  app: string | null;
  /** A person's id, a key's id, or a word such as `operator`; empty for a key that expired. */
  actor: string;
  actorEmail: string | null;
  /** The address of the person in the entry. */
  email: string | null;
  /** The details of an entry as truncated JSON, or the name of a push or a key. */
  details: string;
  /** The number of the push. */
  seq: number | null;
  /** The id of the key that pushed or expired. */
  keyId: string | null;
};

export type Axis = {
  /** When step 0 begins. */
  since: string;
  stepS: number;
  steps: number;
  /** By the number of each step that has any; those of the span before have negative numbers. */
  counted: [
    step: number,
    requests: number,
    errors: number,
    rejections: number,
    latencies: number[][],
  ][];
  /** Newest first. */
  changes: Change[];
};
