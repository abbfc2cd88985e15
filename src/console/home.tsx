/** @jsxImportSource #html @jsxRuntime automatic */
/** Home: issues, requests of the apps, and the steps to a first row for an empty service. @module */

import { describeSwitch } from "../app_switch.ts";
import { CONTRACTED_FROM } from "../db/mod.ts";
import { CONSOLE_PATH } from "../identity/mod.ts";
import type { Html, Part } from "../pages/mod.ts";
import { type ConsoleHome, readConsole, type Span } from "../records/console/mod.ts";
import { quoteForShell } from "../std/quote_shell.ts";
import { renderAxis } from "./activity/axis.tsx";
import type { Visit } from "./enter.tsx";
import { respondWithConsolePage } from "./frame.tsx";
import {
  readAppSort,
  readSpan,
  renderAppNumbers,
  renderSpans,
  renderStats,
  showRequests,
} from "./numbers.tsx";
import {
  renderAttention,
  renderLink,
  renderPill,
  renderSnippet,
  renderText,
  renderTime,
  toApiUrl,
} from "./parts.tsx";
import { NEW_APP, toAppPath, toKeyPath, toPersonPath, toTablePath } from "./paths.ts";
import { toRequestsPath } from "./requests_filter.tsx";
import { BUILD_STATES } from "./tables/table_parts.tsx";

const MAX_APPS = 20;

export async function handleHome(visit: Visit): Promise<Response> {
  const span = readSpan(visit.context.query);
  const sort = readAppSort(visit.context.query);
  const home = await readConsole(visit.deps, "home", { wanted_span: span, max_rows: MAX_APPS });
  const { me, apps, axis } = home;
  const now = visit.deps.now();
  const hasRows = apps.length > 0 && home.hasKeys && home.hasTables;
  return respondWithConsolePage({
    me,
    entry: "Home",
    title: me.displayName === null ? "Home" : `Hello, ${me.displayName.slice(0, 60)}`,
    actions: apps.length > 0 && [
      renderSpans(span, CONSOLE_PATH),
      renderLink("New app", NEW_APP, "quiet", { keys: "n" }),
    ],
    body: [
      renderAttention("Needs attention", [
        ...renderIsolation(home),
        ...renderDevLeftovers(home),
        ...renderVersions(home, now),
        ...home.unserved.map(renderUnserved),
        ...(home.canContract ? [CAN_CONTRACT] : []),
        ...home.processes.silent.map((silent) => renderSilent(silent, now)),
        ...home.builds.map(renderBuild),
        ...home.endingKeys.map((key) => renderKey(key, now)),
        ...apps.filter(({ numbers }) => numbers.errors > 0).map((app) => renderFailing(app, span)),
      ]),
      !hasRows && renderSteps(visit, home),
      apps.length > 0 && [
        renderAppNumbers(home, { span, sort, now }),
        renderStats(axis, { span, slug: "", now }),
        renderAxis({ axis, span, slug: "", now }),
      ],
      renderCalm(home, now),
    ],
  });
}

/** The steps to a first row: completed steps are marked, the next step has a button or a command. */
function renderSteps(visit: Visit, { apps, hasKeys, hasTables }: ConsoleHome): Html {
  const [app] = apps;
  const steps = [
    {
      name: "Create an app",
      isDone: app !== undefined,
      how: (
        <>
          <p class="quiet">
            Each app has its own rows, keys and people. Other apps cannot access them.
          </p>
          {renderLink("Create an app", NEW_APP, "primary")}
        </>
      ),
    },
    {
      name: "Issue a key",
      isDone: app !== undefined && hasKeys,
      how: app !== undefined && (
        <>
          <p class="quiet">
            Servers and deployments use it to read, write and push. It is shown once.
          </p>
          {renderLink("Issue a key", `${toAppPath(app.slug)}/new-key`, "primary")}
        </>
      ),
    },
    {
      name: "Push a table and write a row",
      isDone: app !== undefined && hasKeys && hasTables,
      how: (
        <>
          <p class="quiet">
            In your project directory, with the key in <code>.env</code>:
          </p>
          {renderSnippet({
            id: "first-push",
            name: "the commands",
            text: `rowhouse init\nROWHOUSE_URL=${quoteForShell(toApiUrl(visit))} rowhouse db push`,
          })}
        </>
      ),
    },
  ];
  const next = steps.findIndex(({ isDone }) => !isDone);
  const items = steps.map(({ name, isDone, how }, position) => (
    <li class={`step${isDone ? " step-done" : ""}`}>
      <h3>
        {name}
        {isDone && <> {renderPill("done", "good")}</>}
      </h3>
      {position === next && how}
    </li>
  ));
  return (
    <section class="sheet" aria-labelledby="steps">
      <h2 id="steps">Three steps to your first row</h2>
      <ol class="steps">{items}</ol>
    </section>
  );
}

/** Comes first: no app is served while isolation is broken. */
function renderIsolation({ processes: { issues } }: ConsoleHome): Part[] {
  if (issues.length === 0) return [];
  return [
    <div>
      <b class="bad">The database does not isolate apps. No app is served until this is fixed.</b>
      <ul class="plain">
        {issues.map((issue) => (
          <li>{renderText(issue)}</li>
        ))}
      </ul>
      Run <code>rowhouse doctor</code> for instructions.
    </div>,
  ];
}

/** Anyone who saw the output of `rowhouse dev` has their passwords and secrets. */
function renderDevLeftovers({ devLeftovers }: ConsoleHome): Part[] {
  const { people = [], keys = [] } = devLeftovers ?? {};
  return [
    ...people.map(({ id, email }) => (
      <>
        <span>
          The account {renderText(email)} has a <code>localhost</code> address, like the accounts
          that <code>rowhouse dev</code> creates. Disable the account if it is not needed.
        </span>{" "}
        {renderLink("View account", toPersonPath(id))}
      </>
    )),
    ...keys.map(({ app, keyId }) => (
      <>
        <span>
          The key <code>{keyId}</code> of <b>{app}</b> was issued by <code>rowhouse dev</code> and
          has every scope. Revoke the key if no process needs it.
        </span>{" "}
        {renderLink("Revoke key", `${toKeyPath(app, keyId)}/revoke`, "quiet", { isDialog: true })}
      </>
    )),
  ];
}

/** An upgrade ends when its last process is restarted: two versions for longer are an oversight. */
function renderVersions({ processes: { versions } }: ConsoleHome, now: number): Part[] {
  if (versions.length < 2) return [];
  return [
    <div>
      Processes of different versions are running. Restart the older ones.
      <ul class="plain">
        {versions.map(({ version, processes, since }) => (
          <li>
            {processes} {processes === 1 ? "process" : "processes"} of {version}, since{" "}
            {renderTime(since, now)}
          </li>
        ))}
      </ul>
    </div>,
  ];
}

/** Otherwise a missing stream or history is noticed only when it is needed. */
function renderUnserved({ app, name }: ConsoleHome["unserved"][number]): Html {
  const { title, preview } = describeSwitch(name);
  return (
    <>
      <span>
        {title} is on for <b>{app}</b>, and no process serves it: <code>PREVIEW</code> does not
        include <code>{preview}</code>. Add it and restart the service, or turn the setting off.
      </span>{" "}
      {renderLink("View app", toAppPath(app))}
    </>
  );
}

const CAN_CONTRACT = (
  <span>
    The upgrade can be finished: <code>rowhouse migrate --contract</code> removes what only releases
    before {CONTRACTED_FROM} need. They cannot use the database after it.
  </span>
);

const ROLE_LABELS: Readonly<Record<string, string>> = {
  all: "A process",
  gateway: "A gateway process",
  data: "A data process",
  identity: "An identity process",
};

type Silent = ConsoleHome["processes"]["silent"][number];

function renderSilent({ role, seenAt }: Silent, now: number): Html {
  return (
    <span>
      {ROLE_LABELS[role] ?? ROLE_LABELS["all"]} has not reported since {renderTime(seenAt, now)}: it
      has stopped or cannot reach the database. Its requests since then are not counted.
    </span>
  );
}

function renderBuild({ kind, name, table, app, state }: ConsoleHome["builds"][number]): Html {
  return (
    <>
      <span>
        The {kind} <code>{name}</code> of table <code>{table}</code>, which <b>{app}</b> pushed,{" "}
        {BUILD_STATES[state]}.
      </span>{" "}
      {renderLink(state === "failed" ? "View error" : "View progress", toTablePath(table))}
    </>
  );
}

function renderKey(key: ConsoleHome["endingKeys"][number], now: number): Html {
  return (
    <>
      <span>
        The key {renderText(key.name === "" ? key.keyId : key.name)} of <b>{key.app}</b> expires{" "}
        {renderTime(key.expiresAt, now)}.
      </span>{" "}
      {renderLink("Rotate key", `${toKeyPath(key.app, key.keyId)}/roll`, "quiet", {
        isDialog: true,
      })}
    </>
  );
}

function renderFailing({ slug, numbers }: ConsoleHome["apps"][number], span: Span): Html {
  return (
    <>
      <span>
        {showRequests(numbers.errors)} of <b>{slug}</b> failed in the last {span}.
      </span>{" "}
      {renderLink("View requests", toRequestsPath({ app: slug, kind: "failed" }))}
    </>
  );
}

/** The result of the last checks when there are no issues. */
function renderCalm({ processes, lastPush }: ConsoleHome, now: number): Html {
  const { running, isolationAt, issues } = processes;
  return (
    <p class="calm">
      {isolationAt === null ? (
        "Isolation has not been checked yet."
      ) : (
        <>
          Isolation checked {renderTime(isolationAt, now)}:{" "}
          {issues.length === 0 ? "every policy is active" : "broken"}.
        </>
      )}{" "}
      {running === 1 ? "1 process is reporting." : `${running} processes are reporting.`}
      {lastPush !== null && (
        <>
          {" "}
          Last push: {lastPush.app}, {renderTime(lastPush.at, now)}.
        </>
      )}
    </p>
  );
}
