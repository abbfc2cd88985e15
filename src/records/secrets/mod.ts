/** Secrets, and their proofs that the database checks. @module */
export {
  findIdentitySecret,
  type IdentitySecrets,
  makeIdentitySecrets,
} from "./identity_secrets.ts";
export * from "./secrets.ts";
export { makeSession, type NewSession, toPresented } from "./session_text.ts";
