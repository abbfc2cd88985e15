/** Issues that need an administrator, each with a fix. @module */
import type { ConsoleHome } from "../accounts/console/mod.ts";
import { type Html, html, type Part } from "../pages/mod.ts";
import { renderLink, renderText, renderTime } from "./parts.ts";
import { toKeyPath, toPersonPath, toTablePath } from "./paths.ts";

export function renderAttention(home: ConsoleHome, now: number): Part {
  const items = [
    ...renderIsolation(home),
    ...renderDevLeftovers(home),
    ...home.processes.silent.map((silent) => renderSilent(silent, now)),
    ...home.builds.map(renderBuild),
    ...home.endingKeys.map((key) => renderKey(key, now)),
  ];
  if (items.length === 0) return undefined;
  return html`<section class="attention" aria-label="Needs attention"><ul>${items.map((detail) => html`<li>${detail}</li>`)}</ul></section>`;
}

/** Comes first: no app is served while isolation is broken. */
function renderIsolation({ processes: { issues } }: ConsoleHome): Part[] {
  if (issues.length === 0) return [];
  return [
    html`<div><b class="bad">The database does not isolate apps. No app is served until this is fixed.</b>
<ul class="plain">${issues.map((issue) => html`<li>${renderText(issue)}</li>`)}</ul>Run <code>rowhouse doctor</code> for instructions.</div>`,
  ];
}

/** Anyone who saw the output of `rowhouse dev` has their passwords and secrets. */
function renderDevLeftovers({ devLeftovers }: ConsoleHome): Part[] {
  const { people = [], keys = [] } = devLeftovers ?? {};
  return [
    ...people.map(
      ({ id, email }) =>
        html`<span>The account ${renderText(email)} has a <code>localhost</code> address, like the accounts that <code>rowhouse dev</code> creates. Disable the account if it is not needed.</span>
${renderLink("View account", toPersonPath(id))}`,
    ),
    ...keys.map(
      ({ app, keyId }) =>
        html`<span>The key <code>${keyId}</code> of <b>${app}</b> was issued by <code>rowhouse dev</code> and has every scope. Revoke the key if no process needs it.</span>
${renderLink("Revoke key", `${toKeyPath(app, keyId)}/revoke`, "quiet", { isDialog: true })}`,
    ),
  ];
}

const ROLE_LABELS: Readonly<Record<string, string>> = {
  all: "A process",
  gateway: "A gateway process",
  data: "A data process",
  identity: "An identity process",
};

type Silent = ConsoleHome["processes"]["silent"][number];

function renderSilent({ role, seenAt }: Silent, now: number): Html {
  return html`<span>${ROLE_LABELS[role] ?? ROLE_LABELS["all"]} has not reported since ${renderTime(seenAt, now)}: it has stopped or cannot reach the database. Its requests since then are not counted.</span>`;
}

const BUILD_STATES: Readonly<Record<string, string>> = {
  waiting: "is waiting to be built",
  running: "is being built",
  failed: "could not be built",
};

function renderBuild({ kind, name, table, app, state }: ConsoleHome["builds"][number]): Html {
  return html`<span>The ${kind} <code>${name}</code> of table <code>${table}</code>, which <b>${app}</b> pushed, ${BUILD_STATES[state] ?? "does not exist yet"}.</span>
${renderLink(state === "failed" ? "View error" : "View progress", toTablePath(table))}`;
}

function renderKey(key: ConsoleHome["endingKeys"][number], now: number): Html {
  return html`<span>The key ${renderText(key.name === "" ? key.keyId : key.name)} of <b>${key.app}</b> expires ${renderTime(key.expiresAt, now)}.</span>
${renderLink("Rotate key", `${toKeyPath(key.app, key.keyId)}/roll`, "quiet", { isDialog: true })}`;
}

/** The result of the last checks when there are no issues. */
export function renderCalm({ processes, lastPush }: ConsoleHome, now: number): Html {
  const { running, isolationAt, issues } = processes;
  return html`<p class="calm">${
    isolationAt === null
      ? "Isolation has not been checked yet."
      : html`Isolation checked ${renderTime(isolationAt, now)}: ${issues.length === 0 ? "every policy is active" : "broken"}.`
  } ${running === 1 ? "1 process is reporting." : `${running} processes are reporting.`}${lastPush !== null && html` Last push: ${lastPush.app}, ${renderTime(lastPush.at, now)}.`}</p>`;
}
