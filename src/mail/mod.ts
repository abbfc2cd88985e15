/** Emails to people: their texts and their delivery. The queue in the database decides what is sent. @module */

export { type MailResult, makeMailSender } from "./sender.tsx";
export type { MailSettings } from "./settings.ts";
export { type MailAttempt, tryServer } from "./transport.ts";
