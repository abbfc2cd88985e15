/** Sign-in by password, provider, passkey and second factor, and the sessions that it starts. @module */

export { type Device, isDeviceName, readDevice, toDeviceName, toDeviceText } from "./devices.ts";
export { beginPasskey, finishPasskeySignIn, toPasskeyFactor } from "./passkeys.ts";
export { openPersonKey } from "./person_keys.ts";
export * from "./providers.ts";
export * from "./second_factors.ts";
export {
  endSessions,
  endSessionsEverywhere,
  type PageSession,
  type PageSessionOptions,
  type PeoplePage,
  readMe,
  readPageSession,
  readPeople,
  type Visitor,
  type VisitorApp,
} from "./sessions.ts";
export * from "./sign_in_attempts.ts";
