/** @jsxImportSource #html @jsxRuntime automatic */
/** `/account/sessions`: lists and ends a person's sessions. @module */

import { type Html, redirect, renderForm, renderPill, renderTime } from "../../pages/mod.ts";
import { endOwnSessions, type OwnSession } from "../../records/account_settings/mod.ts";
import { isIdText } from "../../records/secrets/mod.ts";
import { PATHS } from "../paths.ts";
import { makeAccountForm, type OwnVisit, renderEntry } from "./page.tsx";

const ALL_OTHERS = "others";

export const sessionsPage = makeAccountForm({
  tab: "Sessions",
  title: "Sessions",
  lead: "Your active sessions. End any session that you do not recognize, then change your password.",
  notices: new Map([
    ["ended=one", "Session ended."],
    ["ended=others", "All other sessions ended."],
  ]),
  read: ({ account }) => account,
  form: ({ sessions }, { deps, token }) => {
    const others = sessions.filter(({ isOwn }) => !isOwn);
    const now = deps.now();
    return {
      instead: (
        <>
          <ul class="sessions">
            {sessions.map((session) => renderSession(session, { token, now }))}
          </ul>
          {others.length > 1 && (
            <div class="actions">
              {renderEnd({ token, session: ALL_OTHERS, button: "End all others" })}
            </div>
          )}
        </>
      ),
    };
  },
  run: end,
});

/** Ends one session, or all others. */
async function end({ deps, fields }: OwnVisit): Promise<Response> {
  const wanted = fields.get("session") ?? "";
  const isAll = wanted === ALL_OTHERS;
  if (isAll) await endOwnSessions(deps, undefined);
  else if (isIdText(wanted)) await endOwnSessions(deps, wanted);
  return redirect(`${PATHS.sessions}?ended=${isAll ? "others" : "one"}`);
}

function renderSession(
  { id, isOwn, device, address, signedInAt, lastSeenAt }: OwnSession,
  { token, now }: { token: string; now: number },
): Html {
  const name = device ?? "Unknown browser";
  return renderEntry({
    name,
    pill: isOwn && renderPill("this session", "good"),
    about: (
      <>
        {address !== null && <>from {address} · </>}signed in {renderTime(signedInAt, now)}
        {!isOwn && <> · last seen {renderTime(lastSeenAt, now)}</>}
      </>
    ),
    actions:
      !isOwn && renderEnd({ token, session: id, button: "End", about: `the session of ${name}` }),
  });
}

function renderEnd(end: { token: string; session: string; button: string; about?: string }): Html {
  const { token, session, button, about } = end;
  return renderForm({
    action: PATHS.sessions,
    token,
    hidden: { session },
    button: [button, about !== undefined && <span class="visually-hidden"> {about}</span>],
    tone: "quiet",
  });
}
