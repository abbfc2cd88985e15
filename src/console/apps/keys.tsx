/** @jsxImportSource #html @jsxRuntime automatic */
/** An app's keys: scopes, last use and expiry. Never shows a secret. @module */

import type { Html, Part } from "../../pages/mod.ts";
import { SCOPES, type Scope } from "../../principal.ts";
import { Problem } from "../../problem.ts";
import { keyList, type ListedKey } from "../../records/apps/mod.ts";
import { readApp, respondWithAppPage } from "../app_page.tsx";
import type { Visit } from "../enter.tsx";
import {
  type ListQuery,
  makeCsv,
  readListed,
  readListQuery,
  renderListLinks,
  renderListTable,
} from "../list.tsx";
import { renderEmpty, renderLink, renderRowActions, renderText, renderTime } from "../parts.tsx";
import { renderDone, toAppPath, toKeyPath, toKeysPath } from "../paths.ts";

const SCOPE_LABELS: Readonly<Record<Scope, string>> = {
  "data:read": "read",
  "data:write": "write",
  "schema:read": "read schema",
  "schema:push": "push",
  "schema:drop": "drop",
  "schema:rules": "rules",
};

export async function handleKeys(visit: Visit): Promise<Response> {
  const { me, slug, app, keys } = await readApp(visit);
  const now = visit.deps.now();
  const query = readListQuery(visit.context.query, { maxLength: 0 }, keyList);
  const { sort } = query;
  const sorted = sort && (await readListed(visit, keyList, { sort, limit: keys.length })).keys;
  return respondWithAppPage({
    visit,
    me,
    isDisabled: app.disabledAt !== null,
    tab: "Keys",
    body: [
      renderDone(visit),
      keys.length === 0
        ? renderNoKey(slug)
        : [
            renderKeys(sorted ?? pairKeys(keys), { slug, query, now }),
            renderListLinks({ path: toKeysPath(slug) }),
          ],
      <p class="quiet">
        Use keys only on servers. Browsers sign people in with the identity client instead.
      </p>,
    ],
  });
}

export const keysCsv = makeCsv(keyList);

export function renderNoKey(slug: string): Html {
  return renderEmpty(
    "This app has no keys yet. Servers and deployments need a key to read, write or push.",
    renderLink("Issue a key", `${toAppPath(slug)}/new-key`, "primary"),
  );
}

function renderKeys(
  keys: readonly ListedKey[],
  { slug, query, now }: { slug: string; query: ListQuery; now: number },
): Html {
  const replaced = new Map(keys.map(({ keyId, replacedBy }) => [replacedBy, keyId]));
  return renderListTable(keyList, keys, {
    label: "Keys",
    now,
    first: "name",
    sorted: { path: toKeysPath(slug), query },
    cells: {
      name: (key) => {
        const name = key.name === "" ? <span class="quiet">no name</span> : renderText(key.name);
        return isLive(key) ? <b>{name}</b> : <span class="quiet">{name}</span>;
      },
      keyId: (key) => [<code>{key.keyId}</code>, renderPair(key, replaced.get(key.keyId))],
      scopes: (key) => listScopes(key) || "nothing",
      expiresAt: (key) => renderEnd(key, now),
    },
    actions: (key) => isLive(key) && renderActions(slug, key),
  });
}

/** Whether the key works while its app is enabled. */
export function isLive({ status }: ListedKey): boolean {
  return status === "active" || status === "disabled app";
}

/** Each key, followed by the key that it replaced. */
function pairKeys(keys: readonly ListedKey[]): ListedKey[] {
  const replaced = new Map(keys.map((key) => [key.replacedBy, key]));
  const known = new Set(keys.map(({ keyId }) => keyId));
  const follow = (key: ListedKey): ListedKey[] => {
    const before = replaced.get(key.keyId);
    return [key, ...(before === undefined ? [] : follow(before))];
  };
  return keys
    .filter(({ replacedBy }) => replacedBy === null || !known.has(replacedBy))
    .flatMap(follow);
}

function listScopes({ scopes }: ListedKey): string {
  const sorted = SCOPES.filter((scope) => scopes.includes(scope));
  return sorted.map((scope) => SCOPE_LABELS[scope]).join(", ");
}

function renderPair({ replacedBy }: ListedKey, replaces: string | undefined): Part {
  return [
    replaces !== undefined && (
      <span class="row-detail">
        replaces <code>{replaces}</code>
      </span>
    ),
    replacedBy !== null && (
      <span class="row-detail">
        replaced by <code>{replacedBy}</code>
      </span>
    ),
  ];
}

const SOON_MS = 14 * 86_400_000;

function renderEnd({ status, expiresAt, revokedAt }: ListedKey, now: number): Html {
  if (status === "revoked") return <span class="quiet">revoked {renderTime(revokedAt, now)}</span>;
  if (status === "expired") return <span class="quiet">expired {renderTime(expiresAt, now)}</span>;
  const isSoon = expiresAt !== null && new Date(expiresAt).getTime() - now < SOON_MS;
  const time = renderTime(expiresAt, now);
  return isSoon ? <span class="pill pill-warn">{time}</span> : time;
}

function renderActions(slug: string, { keyId, name }: ListedKey): Html {
  const path = toKeyPath(slug, keyId);
  return renderRowActions(<>key {renderText(name === "" ? keyId : name)}</>, [
    ["Rotate", `${path}/roll`],
    ["Revoke", `${path}/revoke`, "danger"],
  ]);
}

/** The key and the app in the address. @throws {Problem} not_found — the key is not active */
export async function readActiveKey(visit: Visit) {
  const { key: keyId = "" } = visit.context.params;
  const page = await readApp(visit);
  const key = page.keys.find((key) => key.keyId === keyId && isLive(key));
  if (key !== undefined) return { ...page, keyId, key };
  throw new Problem("not_found", {
    message: "This app has no such active key: it was revoked or has expired",
  });
}
