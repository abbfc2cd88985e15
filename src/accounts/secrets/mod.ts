/** Secrets, and their proofs that the database checks. @module */
export {
  findIdentitySecret,
  type IdentitySecrets,
  makeIdentitySecrets,
} from "./identity_secrets.ts";
export * from "./passwords.ts";
export { type Sealing, seal, unseal } from "./sealed_text.ts";
export { isIdText, isSecretText, makeIdText, makeSecret } from "./secret_text.ts";
export { makeSession, type NewSession, toPresented } from "./session_text.ts";
