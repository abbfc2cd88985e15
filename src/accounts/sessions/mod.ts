/** Sign-in by password, provider, passkey and second factor, and the sessions that it starts. @module */

export { type PeoplePage, readPeople } from "./app_people.ts";
export { isDeviceName, toDeviceName } from "./device_name.ts";
export { type Device, readDevice, toDeviceText } from "./device_text.ts";
export { signInByLink } from "./link_sign_ins.ts";
export { finishPasskeySignIn } from "./passkey_sign_ins.ts";
export { beginPasskey, toPasskeyFactor } from "./passkeys.ts";
export {
  findPendingSignIn,
  makePending,
  type NewPending,
  PENDING_LIFE_S,
  type PendingSignIn,
  toPendingCookieText,
} from "./pending_sign_ins.ts";
export {
  createLinked,
  findProviderPerson,
  type Linked,
  linkInvited,
  type Subject,
} from "./provider_links.ts";
export {
  beginProviderSignIn,
  finishProviderSignIn,
  recordRejectedSignIn,
} from "./provider_sign_ins.ts";
export {
  makeRecoveryCodes,
  proveRecoveryCode,
  type RecoveryCodes,
  readRecoveryCode,
} from "./recovery_codes.ts";
export {
  beginSecondFactor,
  type FactorAttempt,
  type FactorFrom,
  type FactorKind,
  finishSecondFactor,
  type RightFactor,
  recordWrongFactor,
} from "./second_factors.ts";
export {
  endSessions,
  endSessionsEverywhere,
  type PageSession,
  type PageSessionOptions,
  readMe,
  readPageSession,
  type Visitor,
  type VisitorApp,
} from "./sessions.ts";
export {
  beginSignIn,
  type FactorRule,
  finishSignIn,
  type KnownUser,
  SIGN_IN_LIMITS,
  sweepThrottle,
} from "./sign_in_attempts.ts";
export {
  findStep,
  makeTotpKey,
  makeTotpRecord,
  type NewTotp,
  openNewTotp,
  openTotp,
  sealNewTotp,
  TOTP_CODE,
  toTotpUri,
} from "./totp.ts";
