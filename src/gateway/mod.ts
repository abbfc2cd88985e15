/** The gateway: API keys to principals, limits, and signed requests between processes. @module */
export * from "./authenticate.ts";
export { makeReadAddress, trustsAllAddresses } from "./client_address.ts";
export { type Forward, makeForward, toForwarded } from "./forward.ts";
export { makeUseNonce, sweepNonces } from "./nonces.ts";
export {
  makeSendOut,
  OUTGOING_LIMITS,
  passOn,
  type SendOut,
} from "./outgoing.ts";
export { makeSpendQuota, type Quota, type SpendQuota } from "./rate_limits.ts";
export * from "./receive.ts";
export { AUDIENCES, type Audience } from "./signature.ts";
export { makeVerify } from "./verify.ts";
