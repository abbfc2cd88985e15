/** `rowhouse admin set-origins`: the origins of an app's pages, and the redirects after sign-in. @module */
import { many, text } from "../../accounts/actions/mod.ts";
import { setTargets } from "../../accounts/apps/mod.ts";
import { UsageError } from "../cli/command.ts";
import { command, typed } from "./command.ts";
import { listNextSteps } from "./next_steps.ts";
import { makeAdminCommands } from "./task.ts";

const KINDS = ["origin", "redirect"] as const;
type Kind = (typeof KINDS)[number];
type Typed = Readonly<Record<Kind | `add-${Kind}` | `remove-${Kind}`, readonly string[]>>;

/** @throws {UsageError} nothing to do, or a list that is both replaced and changed */
function checkFlags(flags: Typed): void {
  const isChanged = (kind: Kind) =>
    flags[`add-${kind}`].length > 0 || flags[`remove-${kind}`].length > 0;
  const both = KINDS.find((kind) => flags[kind].length > 0 && isChanged(kind));
  if (both !== undefined)
    throw new UsageError(
      `Cannot use --${both} with --add-${both} or --remove-${both}: it replaces the whole list`,
    );
  if (KINDS.every((kind) => flags[kind].length === 0 && !isChanged(kind)))
    throw new UsageError(
      "Nothing to change: add --add-origin, --remove-origin, --add-redirect or --remove-redirect, or replace all with --origin and --redirect",
    );
}

function show(urls: readonly string[]): string {
  return urls.length === 0 ? "none" : urls.join(", ");
}

export const adminTargetCommands = makeAdminCommands({
  "set-origins": command({
    example: `rowhouse admin set-origins wiki --add-origin https://wiki.example.org
rowhouse admin set-origins wiki --remove-redirect https://old.example.org/callback
rowhouse admin set-origins wiki --origin https://wiki.example.org --origin https://docs.example.org`,
    about: `Every process applies the change within seconds. Adding requires COOKIE_DOMAIN. Removing the last origin and redirect
ends the app's sign-in; its keys still work.`,
    args: { slug: typed },
    flags: {
      origin: { value: "url", many: true, about: "replaces all origins" },
      redirect: { value: "url", many: true, about: "replaces all redirects" },
      "add-origin": { value: "url", many: true, about: "sign-in can redirect to any path of it" },
      "remove-origin": { value: "url", many: true, about: "exactly as registered" },
      "add-redirect": {
        value: "url",
        many: true,
        about: "sign-in can redirect to exactly this URL",
      },
      "remove-redirect": { value: "url", many: true, about: "exactly as registered" },
    },
    json: { app: text(), origins: many(text()), redirects: many(text()) },
    run: async (deps, { slug, ...flags }) => {
      checkFlags(flags);
      const { origins, redirects } = await setTargets(deps, {
        slug,
        replaced: KINDS.filter((kind) => flags[kind].length > 0),
        add: {
          origins: [...flags.origin, ...flags["add-origin"]],
          redirects: [...flags.redirect, ...flags["add-redirect"]],
        },
        remove: { origins: flags["remove-origin"], redirects: flags["remove-redirect"] },
        cookieDomain: deps.config.COOKIE_DOMAIN,
      });
      return {
        document: { app: slug, origins, redirects },
        lines: [
          `Origins of ${slug}: ${show(origins)}`,
          `Redirects of ${slug}: ${show(redirects)}`,
          ...(await listNextSteps(deps, slug)),
        ],
      };
    },
  }),
});
