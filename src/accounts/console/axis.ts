/** Requests and changes of the Console on one time axis. @module */

/** A push, an entry of the audit log, or a key that expired. */
export type Change = {
  at: string;
  /** `push`, `expire_key`, or the action of the entry. */
  action: string;
  app: string | null;
  /** A person's id, a key's id, or a fixed name such as `operator`; empty for a key that expired. */
  actor: string;
  actorEmail: string | null;
  /** The email address of the person in the entry. */
  email: string | null;
  /** The details of an entry as truncated JSON, or the name of a push or a key. */
  details: string;
  /** The number of the push. */
  seq: number | null;
  /** The id of the key that pushed or expired. */
  keyId: string | null;
};

export type Axis = {
  /** The start of step 0. */
  since: string;
  stepS: number;
  steps: number;
  /** Steps with requests, by index. Steps of the previous span have negative indexes. */
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
