/** Sample input in forms: a new form is filled in automatically, unless a field needs a sample. @module */
import type { Inputs } from "../../../src/records/actions/mod.ts";
import { KEY_ACTIONS } from "../../../src/records/apps/mod.ts";
import { PERSON_ACTIONS, ROLE_ACTIONS } from "../../../src/records/people/mod.ts";
import { readForms } from "../forms.ts";

/** Typed text, checked boxes and chosen options, by the name of the field. Other selects get another option, other fields keep their value. */
const TYPED: Readonly<Record<string, string>> = {
  slug: "another-app",
  origins: "https://another.example.org",
  name: "Another",
  email: "another@example.org",
  app: "APP",
  role: "member",
  "scope data:read": "on",
  perMinute: "6000",
  // The old key still works.
  grace: "1h",
  rows: "title\nimported",
  "value.title": "changed",
  column: "title",
};

/** The examples of declared inputs. */
const EXAMPLES: Readonly<Record<string, string | undefined>> = Object.fromEntries(
  Object.values<{ inputs?: Inputs }>({
    ...PERSON_ACTIONS,
    ...ROLE_ACTIONS,
    ...KEY_ACTIONS,
  }).flatMap(({ inputs = {} }) =>
    Object.entries(inputs).map(([name, { example }]) => [name, example]),
  ),
);

/** The values that a browser sends after a person has filled in the form of the page; empty if the page has no form. */
export function fillForm(page: string, app: { slug: string }): Record<string, string> {
  const form = readForms(page).find(({ method }) => method === "post");
  return Object.fromEntries(
    (form?.fields ?? []).flatMap(({ name, tag, type, value, options, attribute }) => {
      if (type === "hidden") return [[name, value]];
      const known = TYPED[name]?.replace("APP", app.slug) ?? attribute("data-must-be");
      const typed = known ?? EXAMPLES[name];
      if (tag === "select") return [[name, choose(options, value, typed)]];
      if (typed !== undefined) return [[name, typed]];
      if (tag === "button" || type === "checkbox") return [];
      if (value === "" && attribute("required") !== undefined)
        throw new Error(
          `${form?.action}: add a sample of the field ${name} to TYPED in test/support/samples/forms.ts`,
        );
      return [[name, value]];
    }),
  );
}

function choose(options: readonly string[], value: string, typed: string | undefined): string {
  const wanted = options.find((option) => option === typed);
  return wanted ?? options.find((option) => option !== value) ?? value;
}
