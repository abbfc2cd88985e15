/** The gateway: API keys to principals, limits, and signed requests between processes. @module */
export { type Authenticate, makeAuthenticate, readPresentedKeyId } from "./authenticate.ts";
export { makeReadAddress, trustsAllAddresses } from "./client_address.ts";
export { FAILURES_PER_MINUTE } from "./failures.ts";
export { type Forward, makeForward, toForwarded } from "./forward.ts";
export { makeLease, sweepLeases } from "./leases.ts";
export {
  makeSendOut,
  OUTGOING_LIMITS,
  type OutgoingLimits,
  passOn,
  type SendOut,
} from "./outgoing.ts";
export { makeSpendQuota, type Quota, type SpendQuota } from "./quota.ts";
export {
  makeOpenReceive,
  makeSignedReceive,
  type Peer,
  type Receive,
  type Received,
} from "./receive.ts";
export { makeSharedBuckets } from "./shared_buckets.ts";
export { AUDIENCES, type Audience } from "./signature.ts";
export { makeUseNonce, sweepNonces } from "./stored_nonces.ts";
export { makeVerify } from "./verify.ts";
