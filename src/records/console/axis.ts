/** Requests and changes of the Console on one time axis. @module */
import * as v from "valibot";
import {
  type Checked,
  count,
  many,
  orNull,
  record,
  shaped,
  text,
  time,
} from "../actions/columns.ts";

/** A push, an entry of the audit log, or a key that expired. */
export const CHANGE = record({
  at: time(),
  /** `push`, `expire_key`, or the action of the entry. */
  action: text(),
  app: orNull(text()),
  /** A person's id, a key's id, or a fixed name such as `operator`; empty for a key that expired. */
  actor: text(),
  actorEmail: orNull(text()),
  /** The email address of the person in the entry. */
  email: orNull(text()),
  /** The details of an entry as truncated JSON, or the name of a push or a key. */
  details: text(),
  /** The number of the push. */
  seq: orNull(count()),
  /** The id of the key that pushed or expired. */
  keyId: orNull(text()),
});
export type Change = Checked<typeof CHANGE>;

/** Its index, and its counts of requests, errors and rejections. */
export const STEP = [v.number(), v.number(), v.number(), v.number()] as const;

export const AXIS = record({
  /** The start of step 0. */
  since: time(),
  stepS: count(),
  steps: count(),
  /** Steps with requests, with their latencies. Steps of the previous span have negative indexes. */
  counted: shaped(v.array(v.tuple([...STEP, v.array(v.array(v.number()))]))),
  /** Newest first. */
  changes: many(CHANGE),
});
export type Axis = Checked<typeof AXIS>;
