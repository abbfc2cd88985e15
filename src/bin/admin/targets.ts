/** `rowhouse admin set-origins`: the origins of an app's pages, and the redirects after sign-in. @module */
import { setTargets } from "../../accounts/apps/mod.ts";
import { type Arguments, UsageError } from "../cli/command.ts";
import { listNextSteps } from "./next_steps.ts";
import { type AdminTask, makeAdminCommands } from "./task.ts";

const KINDS = ["origin", "redirect"] as const;

const setOriginsTask: AdminTask = async (deps, args) => {
  const [slug = ""] = args.positionals;
  checkFlags(args);
  const replaced = KINDS.filter((kind) => args.texts(kind).length > 0);
  const targets = await setTargets(deps, {
    slug,
    replaced,
    add: {
      origins: [...args.texts("origin"), ...args.texts("add-origin")],
      redirects: [...args.texts("redirect"), ...args.texts("add-redirect")],
    },
    remove: { origins: args.texts("remove-origin"), redirects: args.texts("remove-redirect") },
    cookieDomain: deps.config.COOKIE_DOMAIN,
  });
  return {
    document: { app: slug, ...targets },
    lines: [
      `Origins of ${slug}: ${show(targets.origins)}`,
      `Redirects of ${slug}: ${show(targets.redirects)}`,
      ...(await listNextSteps(deps, slug)),
    ],
  };
};

/** @throws {UsageError} nothing to do, or a list that is both replaced and changed */
function checkFlags(args: Arguments): void {
  const changesOf = (kind: string) => [
    ...args.texts(`add-${kind}`),
    ...args.texts(`remove-${kind}`),
  ];
  const both = KINDS.find((kind) => args.texts(kind).length > 0 && changesOf(kind).length > 0);
  if (both !== undefined)
    throw new UsageError(
      `Cannot use --${both} with --add-${both} or --remove-${both}: it replaces the whole list`,
    );
  if (KINDS.every((kind) => args.texts(kind).length === 0 && changesOf(kind).length === 0))
    throw new UsageError(
      "Nothing to change: add --add-origin, --remove-origin, --add-redirect or --remove-redirect, or replace all with --origin and --redirect",
    );
}

function show(urls: readonly string[]): string {
  return urls.length === 0 ? "none" : urls.join(", ");
}

export const adminTargetCommands = makeAdminCommands({
  "set-origins": {
    example: `rowhouse admin set-origins wiki --add-origin https://wiki.example.org
rowhouse admin set-origins wiki --remove-redirect https://old.example.org/callback
rowhouse admin set-origins wiki --origin https://wiki.example.org --origin https://docs.example.org`,
    about: `Every process applies the change within seconds. Adding requires COOKIE_DOMAIN. Removing the last origin and redirect
ends the app's sign-in; its keys still work. Prints { app, origins, redirects } with --json.`,
    positionals: ["slug"],
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
    task: setOriginsTask,
  },
});
