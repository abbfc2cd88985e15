/** Mails to people: what they say, and how they are sent. Decides nothing; the queue says what there is to send. @module */

export { type MailNote, makeMailSender } from "./sender.ts";
export type { MailSettings } from "./settings.ts";
export { tryServer } from "./transport.ts";
