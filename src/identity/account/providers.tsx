/** @jsxImportSource #html @jsxRuntime automatic */
/** `/account/linked`: lists, links and unlinks a person's accounts at providers. @module */

import {
  type Html,
  type Rejection,
  redirect,
  renderForm,
  renderLink,
  renderTime,
  respondWithMessage,
} from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import {
  type OwnLinks,
  readOwnLinks,
  unlinkOwnProvider,
} from "../../records/account_settings/mod.ts";
import { RECENT_SIGN_IN } from "../../std/limits.ts";
import { PROVIDER_TEXTS, respondWithProviderPage } from "../oidc/pages.tsx";
import { startAtProvider } from "../oidc/start.ts";
import { OIDC_PATH, PATHS } from "../paths.ts";
import { type Provider, ProviderUnavailable } from "../providers.ts";
import { makeAccountForm, type OwnVisit, renderEntry } from "./page.tsx";
import { ACTION_FIELD, readRemoved, respondWithQuestion } from "./removal.tsx";

const LINK = "link";
const UNLINK = "unlink";
export const linksPage = makeAccountForm({
  tab: "Linked",
  title: "Linked accounts",
  lead: "External accounts that can sign you in",
  notices: new Map([
    ["done=link", "Account linked. You can now sign in with it."],
    ["done=unlink", "Account unlinked."],
  ]),
  read: ({ account }) => account,
  form: async (account, visit) => {
    const { deps, context } = visit;
    const links = await readOwnLinks(deps, account);
    const instead = renderLinks(visit, links);
    const provider = deps.providers.find(readRemoved(context.query));
    if (provider === undefined || !links.linkedAt.has(provider.settings.issuer)) return { instead };
    return account.hasPassword || links.linkedAt.size > 1
      ? respondWithUnlinking(visit, links, provider)
      : { instead, ...rejectLast(provider) };
  },
  run: linkOrUnlink,
});

/** The confirmation page. @throws {SignInTooOld} */
function respondWithUnlinking(
  visit: OwnVisit,
  { isFresh }: OwnLinks,
  provider: Provider,
): Response {
  const { name, label } = provider.settings;
  return respondWithQuestion(visit, {
    tab: "Linked",
    intent: UNLINK,
    isFresh,
    action: PATHS.linked,
    title: "Unlink the account",
    text: (
      <p>
        <strong>
          <bdi>{label}</bdi>
        </strong>{" "}
        will no longer sign you in. You lose the app roles that it granted.
      </p>
    ),
    hidden: { provider: name },
  });
}

/** Continues to the provider, or unlinks it. @throws {Problem} invalid_request — unknown provider */
async function linkOrUnlink(visit: OwnVisit): Promise<Response | Rejection> {
  const { deps, fields } = visit;
  const provider = deps.providers.find(fields.get("provider"));
  if (provider === undefined)
    throw new Problem("invalid_request", { message: "The form names no known provider." });
  if (fields.get(ACTION_FIELD) === LINK) return await respondWithProviderLink(visit, provider);
  const { name, issuer } = provider.settings;
  const outcome = await unlinkOwnProvider(deps, { issuer, provider: name });
  return outcome === "done" ? redirect(`${PATHS.linked}?done=unlink`) : rejectLast(provider);
}

/** The last sign-in method cannot be unlinked. */
function rejectLast({ settings: { label } }: Provider): Rejection {
  const notice = `Cannot unlink ${label}: it is your only way to sign in. Set a password or link another account first.`;
  return { status: 422, notice };
}

/** An intermediate page: browsers apply `form-action` to every redirect after a form, and providers can use several hosts. */
async function respondWithProviderLink(
  { deps, account, context }: OwnVisit,
  provider: Provider,
): Promise<Response> {
  const { label } = provider.settings;
  try {
    const purpose = {
      returnTo: { kind: "own", path: PATHS.linked },
      linkUserId: account.id,
    } as const;
    const { href, cookie } = await startAtProvider(deps, context, provider, purpose);
    const text = (
      <p>
        You continue to <strong>{new URL(href).host}</strong>. The account that you choose there can
        then sign in here as <strong>{account.email}</strong>.
      </p>
    );
    const below = (
      <p>
        <a href={PATHS.linked}>Back</a>
      </p>
    );
    const name = <bdi>{label}</bdi>;
    return respondWithMessage(
      {
        ...{ title: "Link an account", heading: ["Link your account at ", name], text, below },
        next: { name: <span>Continue to {name}</span>, path: href },
      },
      { cookies: [cookie] },
    );
  } catch (error) {
    if (!(error instanceof ProviderUnavailable)) throw error;
    return respondWithProviderPage({
      ...PROVIDER_TEXTS.unavailable(label),
      back: PATHS.linked,
    });
  }
}

function renderLinks({ deps, token }: OwnVisit, links: OwnLinks): Html {
  const now = deps.now();
  const { list } = deps.providers;
  const canLink = list.some(({ settings: { issuer } }) => !links.linkedAt.has(issuer));
  return (
    <>
      {!links.isFresh && canLink && renderStale(list, links)}
      {list.length === 0 ? (
        <p>No sign-in providers are set up.</p>
      ) : (
        <ul class="sessions">
          {list.map((provider) => renderProvider(provider, { links, token, now }))}
        </ul>
      )}
    </>
  );
}

/** How to get a recent sign-in: with a linked provider, or with the password. */
function renderStale(list: readonly Provider[], { linkedAt }: OwnLinks): Html {
  const again = list.filter(({ settings: { issuer } }) => linkedAt.has(issuer));
  const query = String(new URLSearchParams({ to: PATHS.linked }));
  return (
    <p class="notice notice-warn">
      Linking an account requires a sign-in within the last {RECENT_SIGN_IN}: sign out and sign in
      again
      {again.map(({ settings: { name, label } }) => (
        <>
          , or{" "}
          <a href={`${OIDC_PATH}/${name}?${query}`}>
            sign in with <bdi>{label}</bdi> again
          </a>
        </>
      ))}
      .
    </p>
  );
}

function renderProvider(
  { settings: { name, issuer, label } }: Provider,
  { links, token, now }: { links: OwnLinks; token: string; now: number },
): Html {
  const since = links.linkedAt.get(issuer);
  const of = <span class="visually-hidden"> {label}</span>;
  const link = renderForm({
    action: PATHS.linked,
    token,
    hidden: { provider: name, [ACTION_FIELD]: LINK },
    button: <>Link{of}</>,
    tone: "quiet",
  });
  const unlink = renderLink(["Unlink", of], `${PATHS.linked}?remove=${name}`);
  return renderEntry({
    name: <bdi>{label}</bdi>,
    about: since === undefined ? "not linked" : ["linked ", renderTime(since, now)],
    actions: since !== undefined ? unlink : links.isFresh && link,
  });
}
