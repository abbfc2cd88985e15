/** Sign-in by password, provider, passkey and second factor, and the sessions that it starts. @module */

export { type PeoplePage, readPeople } from "./app_people.ts";
export { isDeviceName, toDeviceName } from "./device_name.ts";
export { type Device, readDevice, toDeviceText } from "./device_text.ts";
export { beginPasskey, finishPasskeySignIn, toPasskeyFactor } from "./passkeys.ts";
export * from "./pending_sign_ins.ts";
export {
  createLinked,
  findProviderPerson,
  type Linked,
  linkInvited,
  type Subject,
} from "./provider_links.ts";
export * from "./provider_sign_ins.ts";
export * from "./recovery_codes.ts";
export * from "./second_factors.ts";
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
  signInByLink,
  sweepThrottle,
} from "./sign_in_attempts.ts";
export * from "./totp.ts";
