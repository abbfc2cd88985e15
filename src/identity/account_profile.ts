/** `/account`: a person's name and picture URL, which apps receive. @module */
import { changeOwnProfile, PICTURE_MAX_CHARS } from "../accounts/account_settings/mod.ts";
import { isDisplayName, NAME_MAX_CHARS } from "../accounts/people/mod.ts";
import { html, redirect, renderField, renderForm } from "../pages/mod.ts";
import { isStorableText } from "../std/is_storable_text.ts";
import { type OwnVisit, respondWithAccountPage } from "./account_page.ts";
import { ACCOUNT_PATH, CONSOLE_PATH } from "./paths.ts";

const SAVED = `${ACCOUNT_PATH}?saved=yes`;

type Issues = { name: string[]; picture: string[] };

export function handleProfile(visit: OwnVisit): Response {
  const { displayName, avatarUrl } = visit.account;
  const typed = { name: displayName ?? "", picture: avatarUrl ?? "" };
  const isSaved = visit.context.query === "saved=yes";
  return respondWithForm(visit, { typed, isSaved, issues: { name: [], picture: [] } });
}

export async function handleProfileForm(visit: OwnVisit): Promise<Response> {
  const { deps, fields } = visit;
  const typed = {
    name: (fields.get("name") ?? "").trim(),
    picture: (fields.get("picture") ?? "").trim(),
  };
  const issues = { name: findNameIssues(typed.name), picture: findPictureIssues(typed.picture) };
  if (issues.name.length + issues.picture.length > 0)
    return respondWithForm(visit, { typed, isSaved: false, issues });
  await changeOwnProfile(deps, {
    displayName: typed.name === "" ? null : typed.name,
    avatarUrl: typed.picture === "" ? null : new URL(typed.picture).href,
  });
  return redirect(SAVED);
}

function findNameIssues(name: string): string[] {
  if ([...name].length > NAME_MAX_CHARS) return [`Use at most ${NAME_MAX_CHARS} characters.`];
  return isDisplayName(name) ? [] : ["Use visible characters on one line."];
}

/** Apps put the URL into their pages, so only `https:` URLs without credentials are valid. */
function findPictureIssues(text: string): string[] {
  if (text === "") return [];
  const url = URL.canParse(text) && isStorableText(text) ? new URL(text) : undefined;
  if (url?.protocol !== "https:" || url.username !== "" || url.password !== "")
    return ["Enter a URL that begins with https://, or leave this field empty."];
  return url.href.length > PICTURE_MAX_CHARS
    ? [`Use at most ${PICTURE_MAX_CHARS} characters.`]
    : [];
}

type State = {
  typed: { name: string; picture: string };
  isSaved: boolean;
  issues: Issues;
};

function respondWithForm(
  { deps, account, token }: OwnVisit,
  { typed, isSaved, issues }: State,
): Response {
  const isRejected = issues.name.length + issues.picture.length > 0;
  const fields = [
    renderField({
      name: "name",
      label: "Name",
      type: "text",
      autocomplete: "name",
      maxLength: NAME_MAX_CHARS,
      value: typed.name,
      issues: issues.name,
      isOptional: true,
      isFirst: issues.name.length > 0,
    }),
    renderField({
      name: "picture",
      label: "Picture URL",
      type: "url",
      autocomplete: "photo",
      hint: "Apps load the picture from this URL. Rowhouse never does.",
      maxLength: PICTURE_MAX_CHARS,
      value: typed.picture,
      issues: issues.picture,
      isOptional: true,
      isFirst: issues.name.length === 0 && issues.picture.length > 0,
    }),
  ];
  const form = { action: ACCOUNT_PATH, token, fields };
  return respondWithAccountPage(deps, {
    tab: "Profile",
    title: "Profile",
    status: isRejected ? 422 : 200,
    lead: "Apps receive this profile and your email address",
    done: isSaved ? "Profile saved." : undefined,
    body: html`${renderForm({ ...form, button: "Save" })}
${deps.hasConsole && account.isAdministrator && html`<p class="more"><a href="${CONSOLE_PATH}">Back to the Console</a></p>`}`,
  });
}
