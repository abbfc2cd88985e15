/** What waits in the queue of mails, and whether anyone sends it. @module */
import { type MailState, readMailState } from "../accounts/mails/mod.ts";
import type { Database } from "../db/mod.ts";
import type { Finding } from "./finding.ts";

/** Longer than a busy minute, and shorter than people wait for a link. */
const LATE_S = 600;

/** Nothing, where no one sends and nothing waits. */
export async function examineMails(db: Database): Promise<Finding[]> {
  return judgeMails(await readMailState({ db }));
}

export function judgeMails({ hasSender, waiting, oldestS, givenUp }: MailState): Finding[] {
  const about = "mail";
  const findings: Finding[] = [];
  const count = `${waiting} ${waiting === 1 ? "mail waits" : "mails wait"}`;
  if (waiting > 0 && !hasSender)
    findings.push({
      about,
      level: "warn",
      says: `${count}, and no process has sent any for ten minutes`,
      remedy: "start a process with MAIL_URL where ROLE is all or identity",
    });
  else if (oldestS > LATE_S)
    findings.push({
      about,
      level: "warn",
      says: `${count}, one of them for ${Math.floor(oldestS / 60)} minutes`,
      remedy:
        'look for lines with "event":"mail" in the log: they say what the mail server answers',
    });
  else if (hasSender) findings.push({ about, level: "ok", says: `a process sends it; ${count}` });
  if (givenUp > 0)
    findings.push({
      about,
      level: "warn",
      says: `${givenUp} ${givenUp === 1 ? "mail was" : "mails were"} given up in the last 30 days`,
      remedy:
        'look for "event":"mail" in the log; give those people new links: rowhouse admin password-link',
    });
  return findings;
}
