/** Sends what waits in the queue of mails, in a process that serves people and has a mail server. @module */
import type { MailLinkDeps } from "../accounts/mails/mod.ts";
import { type MailNote, type MailSettings, makeMailSender } from "../mail/mod.ts";
import { type Log, noteFault } from "../observe.ts";

/** How often the queue is looked at, and how long a mail rests that was not taken; in seconds. */
export type MailPace = { intervalS: number; leaseS: number; retryS: number };

const PACE: MailPace = { intervalS: 2, leaseS: 60, retryS: 60 };
/** A server that does not answer does not keep a process from ending. */
const END_MS = 3000;

export type MailingDeps = MailLinkDeps & {
  mail: MailSettings & { pace?: Partial<MailPace> };
  log: Log;
  /** For the metrics. */
  note: (note: MailNote) => void;
};

export type MailOptions = Omit<MailingDeps["mail"], "pagesUrl">;

/** Sends from now on; the returned function ends that, once the mail under way is settled. */
export function startMailing({ log, note, ...deps }: MailingDeps): () => Promise<void> {
  const pace = { ...PACE, ...deps.mail.pace };
  const send = makeMailSender({
    ...deps,
    ...pace,
    note: (sent) => {
      log(sent.outcome === "sent" || sent.outcome === "void" ? "info" : "warn", "mail", sent);
      note(sent);
    },
  });
  let isEnded = false;
  let underWay: Promise<void> | undefined;
  const drain = async (): Promise<void> => {
    while (!isEnded && (await send()));
  };
  const look = (): void => {
    underWay ??= drain()
      .catch(noteFault(log, "sending mails"))
      .finally(() => {
        underWay = undefined;
      });
  };
  const timer = setInterval(look, pace.intervalS * 1000);
  timer.unref();
  return async () => {
    isEnded = true;
    clearInterval(timer);
    await Promise.race([underWay, Bun.sleep(END_MS)]);
  };
}
