/** Sends queued emails, in a process that serves identity and has a mail server. @module */

import { type MailResult, type MailSettings, makeMailSender } from "../mail/mod.ts";
import { type Log, logError } from "../observe.ts";
import type { MailLinkDeps } from "../records/mails/mod.ts";

/** Interval of the queue check, lease of an email, and delay before a retry; in seconds. */
type MailPace = { intervalS: number; leaseS: number; retryS: number };

const PACE: MailPace = { intervalS: 2, leaseS: 60, retryS: 60 };
/** Max wait at shutdown: an unresponsive mail server must not block it. */
const END_MS = 3000;

export type MailingDeps = MailLinkDeps & {
  mail: MailSettings & { pace?: Partial<MailPace> };
  log: Log;
  /** For the metrics. */
  record: (record: MailResult) => void;
};

export type MailOptions = Omit<MailingDeps["mail"], "pagesUrl">;

/** Starts to send; the returned function stops after the current email. */
export function startMailing({ log, record, ...deps }: MailingDeps): () => Promise<void> {
  const pace = { ...PACE, ...deps.mail.pace };
  const send = makeMailSender({
    ...deps,
    ...pace,
    record: (sent) => {
      log(sent.outcome === "sent" || sent.outcome === "void" ? "info" : "warn", "mail", sent);
      record(sent);
    },
  });
  let isEnded = false;
  let running: Promise<void> | undefined;
  const drain = async (): Promise<void> => {
    while (!isEnded && (await send()));
  };
  const check = (): void => {
    running ??= drain()
      .catch(logError(log, "sending emails"))
      .finally(() => {
        running = undefined;
      });
  };
  const timer = setInterval(check, pace.intervalS * 1000);
  timer.unref();
  return async () => {
    isEnded = true;
    clearInterval(timer);
    await Promise.race([running, Bun.sleep(END_MS)]);
  };
}
