/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The search of the navigation: finds apps, people, tables, keys, requests and pages. The command palette, a script, shows this
 * page's results.
 *
 * @module
 */

import { readParameters } from "../http/mod.ts";
import { CONSOLE_PATH, PATHS } from "../identity/mod.ts";
import { type Html, type Part, SIGN_OUT_PATH } from "../pages/mod.ts";
import { type ConsoleMatches, type ConsoleVisitor, readConsole } from "../records/console/mod.ts";
import { toKeyId } from "../std/key_secret.ts";
import { foldSpelling } from "../std/letter_case.ts";
import { listAppActions, listAppPages } from "./app_page.tsx";
import type { Visit } from "./enter.tsx";
import { toPushNumber } from "./form_page.tsx";
import { respondWithConsolePage } from "./frame.tsx";
import { type ListQuery, readListQuery, renderSearch, type Searched } from "./list.tsx";
import { renderEmpty, renderText, renderTime, toApiUrl } from "./parts.tsx";
import {
  ACTIVITY,
  APPS,
  DOCS,
  FIND,
  INVITATIONS,
  NEW_APP,
  NEW_PERSON,
  PEOPLE,
  REQUESTS,
  TABLES,
  toAppPath,
  toKeyPath,
  toKeysPath,
  toPersonPath,
  toPushPath,
  toTablePath,
} from "./paths.ts";
import { isReference, toReference } from "./requests_filter.tsx";

const SEARCHED: Searched = {
  what: "anything",
  label: "App, person, table, key or request id",
  maxLength: 254,
};
/** Max latest pushes of an app. */
const MAX_PUSHES = 3;
/** Max results of each kind. */
const MAX_HITS = 8;
/** Max sections of the docs. */
const MAX_SECTIONS = 4;
/** Max suggestions of a field. */
const MAX_CHOICES = 40;
/** With more keys, a result that revokes one of them is easily the wrong one. */
const MAX_KEYS_WITH_ACTIONS = 2;
/** What people type before a key. */
const VERB = /^(revoke|rotate)\b\s*/i;

type Hit = { name: string; path: string; detail?: Part; email?: string };
type Group = { name: string; hits: readonly Hit[] };

const PAGES: readonly Hit[] = [
  { name: "Home", path: CONSOLE_PATH },
  { name: "Apps", path: APPS },
  { name: "New app", path: NEW_APP },
  { name: "People", path: PEOPLE },
  { name: "Invite people", path: NEW_PERSON },
  { name: "Invitations", path: INVITATIONS },
  { name: "Tables", path: TABLES },
  { name: "Requests", path: REQUESTS },
  { name: "Activity", path: ACTIVITY },
  { name: "Docs", path: DOCS },
  { name: "Your account", path: PATHS.account },
  { name: "Sign out", path: SIGN_OUT_PATH },
];

export async function handleFind(visit: Visit): Promise<Response> {
  const query = readListQuery(visit.context.query, SEARCHED);
  // A field that suggests apps, people, tables or keys also suggests before anything is typed.
  const isLookup = new Map(readParameters(visit.context.query)).has("of");
  const [, verb] = VERB.exec(query.search) ?? [];
  const search = toSearch(visit, query.search.replace(VERB, ""));
  const found = await readConsole(visit.deps, "find", {
    search,
    names: query.expression,
    max_rows: isLookup ? MAX_CHOICES : search === "" && verb === undefined ? 0 : MAX_HITS,
  });
  if (isLookup) return respondWithGroups({ found, query, groups: toGroups("", found) });
  const groups = [
    { name: "Actions", hits: toKeyActions(found, search === "" ? verb : undefined) },
    // A verb alone finds the keys, and nothing else.
    ...(search === "" ? [] : toGroups(search, found)),
    { name: "Pages", hits: [...findPages(search), ...(await findAppPages(visit, query.search))] },
    { name: "Docs", hits: findGuides(visit, search) },
  ];
  return respondWithGroups({ found, query, groups });
}

type FoundGroups = {
  found: ConsoleMatches & { me: ConsoleVisitor };
  query: ListQuery;
  groups: readonly Group[];
};

function respondWithGroups({ found, query, groups }: FoundGroups): Response {
  const shown = groups.filter(({ hits }) => hits.length > 0);
  return respondWithConsolePage({
    me: found.me,
    title: "Find",
    body: [
      renderSearch(FIND, query, SEARCHED),
      shown.length === 0
        ? renderEmpty("No app, person, table, key or page matches.")
        : shown.map(renderGroup),
    ],
  });
}

function toGroups(search: string, { apps, people, tables, keys }: ConsoleMatches): Group[] {
  return [
    { name: "Requests", hits: toRequests(search) },
    {
      name: "Apps",
      hits: apps.map(({ slug, disabledAt }) => ({
        name: slug,
        path: toAppPath(slug),
        ...(disabledAt === null ? {} : { detail: "disabled" }),
      })),
    },
    {
      name: "People",
      hits: people.map(({ id, email, displayName }) => ({
        name: displayName ?? email,
        path: toPersonPath(id),
        email,
        ...(displayName === null ? {} : { detail: renderText(email) }),
      })),
    },
    {
      name: "Tables",
      hits: tables.map(({ name, owner }) => ({
        name,
        path: toTablePath(name),
        detail: `owned by ${owner}`,
      })),
    },
    {
      name: "Keys",
      hits: keys.map(({ keyId, name, app, revokedAt, isExpired }) => ({
        name: keyId,
        path: toKeysPath(app),
        detail: (
          <>
            {renderText(name)} of {app}
            {revokedAt !== null ? ", revoked" : isExpired && ", expired"}
          </>
        ),
      })),
    },
  ];
}

/** The id of a key, whether pasted, typed or begun with its prefix; other texts are unchanged. */
function toSearch({ deps: { keyPrefix } }: Visit, text: string): string {
  const id = toKeyId(text);
  return id.startsWith(`${keyPrefix}_`) ? id.slice(keyPrefix.length + 1) : id;
}

function toKeyActions({ keys }: ConsoleMatches, verb?: string): Hit[] {
  const live = keys.filter(({ revokedAt, isExpired }) => revokedAt === null && !isExpired);
  if (verb === undefined && live.length > MAX_KEYS_WITH_ACTIONS) return [];
  return live.flatMap(({ keyId, name, app }) => {
    const detail = (
      <>
        {renderText(name)} of {app}
      </>
    );
    const actions = [
      { name: `Revoke ${keyId}`, path: `${toKeyPath(app, keyId)}/revoke`, detail },
      { name: `Rotate ${keyId}`, path: `${toKeyPath(app, keyId)}/roll`, detail },
    ];
    return actions.filter(({ name }) => name.toLowerCase().startsWith(verb?.toLowerCase() ?? ""));
  });
}

function findPages(search: string): Hit[] {
  return PAGES.filter(({ name }) => foldSpelling(name).includes(foldSpelling(search)));
}

/** The pages of the apps that the first word finds: `crm keys`; without such an app, the actions on all apps, or on those that the last word finds: `new key`, `new key crm`. */
async function findAppPages(visit: Visit, search: string): Promise<Hit[]> {
  const [, app = "", rest] = /^(\S+)(?:\s+(\S.*))?$/.exec(search) ?? [];
  const list = (found: string) =>
    readConsole(visit.deps, "list_apps", { search: found, after_slug: "", max_rows: MAX_HITS });
  const named = rest === undefined ? [] : (await list(app.toLowerCase())).apps;
  if (named.length === 0) {
    const [, action = "", of = ""] = /^(.*\S)\s+(\S+)$/.exec(search) ?? [];
    for (const [typed, found] of [[search, ""] as const, [action, of] as const])
      if (typed.length >= MIN_PAGE_CHARS && listAppActions("").some(isMatch(typed)))
        return toAppHits((await list(found.toLowerCase())).apps, typed, listAppActions);
    return [];
  }
  const page = rest ?? "";
  const pushes = await findPushes(visit, named[0]?.slug, page);
  const hits = toAppHits(named, page, (slug) => listAppPages(slug, visit.deps));
  return [...pushes, ...hits].slice(0, MAX_HITS);
}

const isMatch =
  (search: string) =>
  ({ name }: { name: string }) =>
    foldSpelling(name).startsWith(foldSpelling(search));

function toAppHits(
  apps: readonly { slug: string }[],
  search: string,
  list: (slug: string) => readonly Hit[],
): Hit[] {
  const hits = apps.flatMap(({ slug }) =>
    list(slug)
      .filter(isMatch(search))
      .map(({ name, path }) => ({ name: `${slug}: ${name}`, path })),
  );
  return hits.slice(0, MAX_HITS);
}

/** The beginning of the name of a page or section. */
const MIN_PAGE_CHARS = 3;

/** The push of an app by its number, or its latest pushes: `crm push 12`. */
async function findPushes({ deps }: Visit, app: string | undefined, typed: string): Promise<Hit[]> {
  const [named, number] = /^push(?:es)?(?:\s+#?(\d{1,9}))?$/i.exec(typed) ?? [];
  if (app === undefined || named === undefined) return [];
  const wanted = number === undefined ? undefined : Number(number);
  const { pushes } = await readConsole(deps, "list_pushes", {
    app_slug: app,
    before_seq: wanted === undefined ? null : wanted + 1,
    max_rows: wanted === undefined ? MAX_PUSHES : 1,
  });
  return pushes
    .filter(({ seq }) => wanted === undefined || seq === wanted)
    .map(({ seq, name, appliedAt }) => ({
      name: `${app}: push ${toPushNumber(seq)}`,
      path: toPushPath(app, seq),
      detail: (
        <>
          {renderText(name.replaceAll("_", " "))} {renderTime(appliedAt, deps.now())}
        </>
      ),
    }));
}

/** The docs are on the API's host. */
function findGuides(visit: Visit, search: string): Hit[] {
  if (search.length < MIN_PAGE_CHARS) return [];
  return visit.deps
    .searchGuides(search)
    .slice(0, MAX_SECTIONS)
    .map(({ title, page, path }) => ({
      ...{ name: title, path: `${toApiUrl(visit)}${path}` },
      ...(page === title ? {} : { detail: renderText(page) }),
    }));
}

/** A link to the list of requests, which finds the request. */
function toRequests(search: string): Hit[] {
  const id = toReference(search);
  if (!isReference(id)) return [];
  return [{ name: id, path: `${REQUESTS}?${new URLSearchParams({ id })}` }];
}

function renderGroup({ name, hits }: Group): Html {
  return (
    <section class="found" data-found={name}>
      <h2>{name}</h2>
      <ul>
        {hits.map((hit) => (
          <li>
            <a href={hit.path} data-email={hit.email}>
              {renderText(hit.name)}
            </a>
            {hit.detail !== undefined && [" ", <span class="quiet">{hit.detail}</span>]}
          </li>
        ))}
      </ul>
    </section>
  );
}
