/** @jsxImportSource #html @jsxRuntime automatic */
/** Issues and rotates keys: shows the new key once. A rotated key expires after a grace period. @module */

import { type Html, renderCopyButton, renderField } from "../../pages/mod.ts";
import { APP_SCOPES, SCOPES, type Scope } from "../../principal.ts";
import { rejectFor } from "../../records/actions/mod.ts";
import { issueKey, KEY_ACTIONS, KEY_NAME, type KeySubject } from "../../records/apps/mod.ts";
import type { ConsoleVisitor } from "../../records/console/mod.ts";
import { makeIdText } from "../../records/secrets/mod.ts";
import { DAY_S } from "../../std/duration.ts";
import { makeActionPages, type SubjectPage } from "../action_page.tsx";
import { makeAppAction, toAppCrumbs } from "../app_page.tsx";
import { readKeyId, readText, type Visit } from "../enter.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import {
  makeSnippets,
  NO_TABLE,
  renderCheck,
  renderLink,
  renderSnippet,
  toApiUrl,
} from "../parts.tsx";
import { toKeyPath, toKeysPath } from "../paths.ts";
import { readActiveKey } from "./keys.tsx";

const LIVES = { "30": "in 30 days", "90": "in 90 days", "365": "in a year", never: "never" };

const SCOPE_HELP: Readonly<Record<Scope, string>> = {
  "data:read": "read rows",
  "data:write": "create, change and delete rows",
  "schema:read": "read the schema: for checks before a deployment",
  "schema:push": "push tables: for deployments",
  "schema:drop": "delete columns and tables in a push, together with schema:push",
  "schema:rules": "give people more rights by rules of a push, together with schema:push",
};

export const newKeyPage = makeAppAction({
  action: "issue_key",
  title: () => "New key",
  form: ({ app }, { deps, fields }) => ({
    hidden: { key_id: makeIdText(deps.randomBytes) },
    fields: [
      renderField({ ...KEY_NAME, name: "name", value: readText(fields, "name"), isFirst: true }),
      renderScopes(fields.size === 0 ? toFirstScopes(app.tables) : readScopes(fields)),
      renderField({
        name: "life",
        label: "Expires",
        choices: LIVES,
        maxLength: 5,
        value: fields.size === 0 ? "never" : (fields.get("life") ?? ""),
      }),
    ],
    button: "Issue the key",
  }),
  run: async (visit, content) => {
    const { deps, fields } = visit;
    const { slug, app } = content;
    const keyId = readKeyId(fields.get("key_id"));
    const { name, scopes, life } = readNewKey(fields);
    const expiresAt = toEnd(life, deps.now());
    const { text } = await issueKey(deps, { slug, keyId, name, scopes, expiresAt });
    return respondWithIssuedKey(visit, content, { text, scopes, table: app.tables[0] });
  },
  back: ({ slug }) => toKeysPath(slug),
  failed: "No key was issued.",
});

type Fields = Visit["fields"];

/** An app without a table needs a key that creates its tables. */
function toFirstScopes(tables: readonly unknown[]): readonly Scope[] {
  return tables.length === 0 ? APP_SCOPES : ["data:read", "data:write"];
}

function readScopes(fields: Fields): Scope[] {
  return SCOPES.filter((scope) => fields.get(`scope ${scope}`) === "on");
}

/** @throws {Problem} invalid_request — with every issue */
function readNewKey(fields: Fields) {
  const [name, scopes] = [readText(fields, "name"), readScopes(fields)];
  const life = fields.get("life") ?? "";
  const issues = [
    KEY_NAME.read(name) === undefined && `The name must be ${KEY_NAME.rule}`,
    scopes.length === 0 && "Choose at least one scope",
    !Object.hasOwn(LIVES, life) && "Choose when it expires",
  ].filter((message) => message !== false);
  if (issues.length > 0) throw rejectFor(issues.map((message) => ({ path: "", message })));
  return { name, scopes, life };
}

function toEnd(life: string, now: number): Date | undefined {
  return life === "never" ? undefined : new Date(now + Number(life) * DAY_S * 1000);
}

function renderScopes(chosen: readonly Scope[]): Html {
  return (
    <fieldset class="field">
      <legend>Scopes</legend>
      {SCOPES.map((scope) =>
        renderCheck(
          `scope ${scope}`,
          [SCOPE_HELP[scope], " ", <code class="quiet">{scope}</code>],
          {
            isChecked: chosen.includes(scope),
          },
        ),
      )}
    </fieldset>
  );
}

function respondWithIssuedKey(
  visit: Visit,
  { me, slug }: { me: ConsoleVisitor; slug: string },
  issued: { text: string; scopes: readonly Scope[]; table: string | undefined },
): Response {
  const { text, scopes, table } = issued;
  const snippets = makeSnippets({ url: toApiUrl(visit), key: text, scopes, table });
  const body = (
    <section class="sheet" aria-label="The new key">
      <p>This key is shown only once and is not stored. Click it to select all of it.</p>
      <p class="secret">
        <code id="key">{text}</code>
        {renderCopyButton("key", "the key")}
      </p>
      {table === undefined && (
        <p>
          This app has no tables yet. Run <code>rowhouse db push</code> with a key that can push.
          Then replace <code>{NO_TABLE}</code> with a table name.
        </p>
      )}
      {snippets.map(({ name, text }, index) => (
        <>
          <h2>{name}</h2>
          {renderSnippet({ id: `snippet-${index}`, name, text })}
        </>
      ))}
      <div class="action-buttons">
        {renderLink("I have stored it", toKeysPath(slug), "primary")}
      </div>
    </section>
  );
  const title = "Copy this key now";
  return respondWithConsolePage({ me, crumbs: toAppCrumbs({ me, slug }), title, body });
}

const KEY: SubjectPage<KeySubject & { page: Awaited<ReturnType<typeof readActiveKey>> }> = {
  read: readActiveKey,
  toRef: ({ slug, keyId }, { fields }) => {
    const newKeyId = fields.get("key_id");
    return { slug, keyId, ...(newKeyId !== undefined && { newKeyId: readKeyId(newKeyId) }) };
  },
  toPath: ({ slug, keyId }) => toKeyPath(slug, keyId),
  toBack: ({ slug }) => toKeysPath(slug),
  crumbs: toAppCrumbs,
};

/** The pages below a key. */
export const KEY_PAGES = makeActionPages(KEY, KEY_ACTIONS, {
  roll: {
    hidden: ({ deps }) => ({ key_id: makeIdText(deps.randomBytes) }),
    show: (visit, page, { key: text }) =>
      respondWithIssuedKey(visit, page, {
        text,
        scopes: page.key.scopes,
        table: page.app.tables[0],
      }),
  },
});
