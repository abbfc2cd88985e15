/** @jsxImportSource #html @jsxRuntime automatic */
/** `/account`: a person's name and picture URL, which apps receive. @module */

import { redirect } from "../../pages/mod.ts";
import { changeOwnProfile, PICTURE_MAX_CHARS } from "../../records/account_settings/mod.ts";
import { isStorableText } from "../../std/text.ts";
import { NAME } from "../fields.ts";
import { CONSOLE_PATH, PATHS } from "../paths.ts";
import { makeAccountForm } from "./page.tsx";

export const profilePage = makeAccountForm({
  tab: "Profile",
  title: "Profile",
  lead: "Apps receive this profile and your email address",
  notices: new Map([["saved=yes", "Profile saved."]]),
  read: ({ account }) => account,
  fields: ({ displayName, avatarUrl }) => ({
    name: { ...NAME, value: displayName ?? "" },
    picture: {
      label: "Picture URL",
      type: "url",
      autocomplete: "photo",
      hint: "Apps load the picture from this URL. Rowhouse never does.",
      maxLength: PICTURE_MAX_CHARS,
      value: avatarUrl ?? "",
      isOptional: true,
      isRetained: true,
      check: findPictureIssues,
    },
  }),
  form: ({ isAdministrator }, { deps }) => ({
    button: "Save",
    below: deps.hasConsole && isAdministrator && (
      <p class="more">
        <a href={CONSOLE_PATH}>Back to the Console</a>
      </p>
    ),
  }),
  run: async ({ deps }, _account, { name, picture }) => {
    await changeOwnProfile(deps, {
      displayName: name === "" ? null : name,
      avatarUrl: picture === "" ? null : new URL(picture).href,
    });
    return redirect(`${PATHS.account}?saved=yes`);
  },
});

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
