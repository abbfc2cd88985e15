/** Issuing a key: its name, what it may do, when it ends. @module */
import { issueKeyByConsole, makeKeyId, showConsoleApp } from "../accounts/mod.ts";
import { type Html, html } from "../pages/mod.ts";
import { SCOPES, type Scope } from "../principal.ts";
import { Problem } from "../problem.ts";
import { DAY_S } from "../std/duration.ts";
import { answerAppAct } from "./app_page.ts";
import { answerToSignIn, type Visit } from "./enter.ts";
import { answerIssuedKey } from "./issued_key.ts";
import { renderActForm, renderFault, renderSelect, renderTextField } from "./parts.ts";
import { toAppPath } from "./paths.ts";
import { readKeyId, toMessages } from "./read.ts";

const LIVES = [
  { value: "30", label: "in 30 days" },
  { value: "90", label: "in 90 days" },
  { value: "365", label: "in a year" },
  { value: "never", label: "never" },
] as const;

const SCOPE_HELP: Readonly<Record<Scope, string>> = {
  "data:read": "read rows",
  "data:write": "create, change and delete rows",
  "schema:push": "push tables: for deployments",
};

type Typed = { name: string; scopes: readonly Scope[]; life: string };

export async function answerNewKey(visit: Visit): Promise<Response> {
  return await answerForm(visit, {
    typed: { name: "", scopes: ["data:read", "data:write"], life: "never" },
    faults: [],
  });
}

export async function answerNewKeyForm(visit: Visit): Promise<Response> {
  const { deps, cookies, context, fields } = visit;
  const slug = context.params["app"] ?? "";
  const typed = readTyped(fields);
  const keyId = readKeyId(fields.get("key_id"));
  const faults = findFaults(typed);
  if (faults.length > 0) return await answerForm(visit, { typed, faults });
  const { me, app } = await showConsoleApp(deps, cookies, slug);
  try {
    const { text } = await issueKeyByConsole(deps, cookies, {
      slug,
      keyId,
      name: typed.name,
      scopes: typed.scopes,
      expiresAt: toEnd(typed.life, deps.now()),
    });
    return answerIssuedKey(visit, { me, slug, text, scopes: typed.scopes, table: app.tables[0] });
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "invalid_request") throw error;
    return await answerForm(visit, { typed, faults: toMessages(error) });
  }
}

function readTyped(fields: ReadonlyMap<string, string>): Typed {
  return {
    name: (fields.get("name") ?? "").trim(),
    scopes: SCOPES.filter((scope) => fields.get(`scope ${scope}`) === "on"),
    life: fields.get("life") ?? "",
  };
}

function findFaults({ name, scopes, life }: Typed): string[] {
  return [
    ...(/^[^\p{Cc}\p{Cf}]{1,100}$/u.test(name)
      ? []
      : ["Give it a name of 1 to 100 characters on one line"]),
    ...(scopes.length > 0 ? [] : ["Choose what it may do"]),
    ...(LIVES.some(({ value }) => value === life) ? [] : ["Choose when it expires"]),
  ];
}

function toEnd(life: string, now: number): Date | undefined {
  return life === "never" ? undefined : new Date(now + Number(life) * DAY_S * 1000);
}

async function answerForm(
  { deps, cookies, context, token }: Visit,
  { typed, faults }: { typed: Typed; faults: readonly string[] },
): Promise<Response> {
  const slug = context.params["app"] ?? "";
  const { me } = await showConsoleApp(deps, cookies, slug);
  if (!me.isFresh) return answerToSignIn(context);
  const form = renderActForm({
    action: `${toAppPath(slug)}/new-key`,
    token,
    fields: [
      html`<input type="hidden" name="key_id" value="${makeKeyId(deps.randomBytes)}">`,
      renderTextField({
        name: "name",
        label: "Name",
        hint: "What it is for, such as “web server”.",
        value: typed.name,
        maxLength: 100,
        isRequired: true,
        isFirst: true,
      }),
      renderScopes(typed.scopes),
      renderSelect({ name: "life", label: "Expires", choices: LIVES, value: typed.life }),
    ],
    button: "Issue the key",
    cancel: toAppPath(slug),
  });
  const body = [faults.length > 0 && renderFault("No key was issued.", faults), form];
  const status = faults.length > 0 ? 422 : 200;
  return answerAppAct({ me, slug, title: "New key", body, status });
}

function renderScopes(chosen: readonly Scope[]): Html {
  return html`<fieldset class="field"><legend>It may</legend>${SCOPES.map((scope) => html`<label class="check"><input type="checkbox" name="scope ${scope}"${chosen.includes(scope) && html` checked`}><span>${SCOPE_HELP[scope]} <code class="quiet">${scope}</code></span></label>`)}</fieldset>`;
}
