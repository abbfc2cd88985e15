/** Checks the mail queue: how many emails wait, and whether a process sends them. @module */
import type { MailState } from "../../records/mails/mod.ts";
import { showCount } from "../../std/count.ts";
import { toDurationText } from "../../std/duration.ts";
import { GIVEN_UP_LIFE_S, MAIL_PAUSE_S } from "../../std/limits.ts";
import { type CheckResult, pass, warn } from "../check_result.ts";

/** Longer than a busy minute, shorter than users wait for a link. */
const OVERDUE_S = 600;

/** No results if the queue is empty and no process sends mail. */
export function evaluateMails({ hasSender, waiting, oldestS, givenUp }: MailState): CheckResult[] {
  const about = "mail";
  const results: CheckResult[] = [];
  const count = `${waiting} ${waiting === 1 ? "email is" : "emails are"} in the queue`;
  if (waiting > 0 && !hasSender)
    results.push(
      warn(about, {
        message: `${count}, and no process has sent email for ${toDurationText(MAIL_PAUSE_S)}`,
        remedy: "start a process with MAIL_URL where ROLE is all or identity",
      }),
    );
  else if (oldestS > OVERDUE_S)
    results.push(
      warn(about, {
        message: `${count}, the oldest for ${showCount(Math.floor(oldestS / 60), "minute")}`,
        remedy:
          'search the log for "event":"mail": these lines show the response of the mail server',
      }),
    );
  else if (hasSender) results.push(pass(about, `a process sends email; ${count}`));
  if (givenUp > 0)
    results.push(
      warn(about, {
        message: `${givenUp} ${givenUp === 1 ? "email was" : "emails were"} not delivered in the last ${toDurationText(GIVEN_UP_LIFE_S)}`,
        remedy:
          'search the log for "event":"mail", then create new links for these people: rowhouse admin password-link',
      }),
    );
  return results;
}
