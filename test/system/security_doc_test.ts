/** Tests each sentence of docs/security.md about the abilities of an attacker. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/command.ts";
import { share } from "../support/share.ts";
import { CONSOLE } from "./security/console.ts";
import { CREDENTIALS } from "./security/credentials.ts";
import { FACTORS } from "./security/factors.ts";
import { SERVING_LOGINS } from "./security/logins.ts";
import { OWNING_LOGINS } from "./security/owners.ts";
import { PASSKEY } from "./security/passkeys.ts";
import { PERSON_KEYS } from "./security/person_keys.ts";
import { SECRETS } from "./security/secrets.ts";
import { openWorld, type Page } from "./security/world.ts";

const PAGE: Page = {
  ...SERVING_LOGINS,
  ...OWNING_LOGINS,
  ...SECRETS,
  ...CREDENTIALS,
  ...FACTORS,
  ...PASSKEY,
  ...PERSON_KEYS,
  ...CONSOLE,
};

const world = await share(openWorld());

/** Returns the page's sentences by heading and list. */
function readSentences(): Record<string, Record<string, string[]>> {
  const page = readFileSync(join(ROOT, "docs/security.md"), "utf8").replaceAll(/<!-- .*? -->/g, "");
  const sections = page
    .split(/^### /m)
    .slice(1)
    .map((text) => text.split(/^## /m)[0] ?? "");
  return Object.fromEntries(
    sections.map((section) => {
      const [heading = ""] = section.split("\n");
      const lists = [...section.matchAll(/^(Can|Cannot):\n\n((?:- .*\n(?: {2}.*\n)*)+)/gm)].map(
        ([, kind = "", list = ""]) => [
          kind,
          list
            .split(/^- /m)
            .slice(1)
            .map((item) => item.replaceAll(/\s+/g, " ").trim()),
        ],
      );
      return [heading, Object.fromEntries(lists)];
    }),
  );
}

test("the tests cover exactly the sentences of the page", () => {
  const tried = Object.fromEntries(
    Object.entries(PAGE).map(([heading, { Can, Cannot }]) => [
      heading,
      { Can: Object.keys(Can), Cannot: Object.keys(Cannot) },
    ]),
  );
  expect(readSentences()).toEqual(tried);
});

describe.each(Object.entries(PAGE))("%s", (_, { Can, Cannot }) => {
  test.each(Object.entries(Can))("can %s", (_sentence, attempt) => attempt(world));
  test.each(Object.entries(Cannot))("cannot %s", (_sentence, attempt) => attempt(world));
});
