/** The forms of the sign-in and account pages after a rejection: what they repeat, and where the focus is. */
import { expect, test } from "bun:test";
import { createUser } from "../../src/records/people/mod.ts";
import { cases } from "../support/cases.ts";
import { testDeps } from "../support/deps.ts";
import { type Jar, makePerson, readHidden, signInAs, visit } from "../support/people.ts";
import { enrolPerson, passPassword } from "../support/second_factor.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());

const openSignedIn = async () => await signInAs(service, await makePerson(service));

async function openPending(): Promise<Jar> {
  const { person } = await enrolPerson(service, await makePerson(service));
  return (await passPassword(service, person)).jar;
}

async function makeLinkPath(): Promise<string> {
  const email = `new-${crypto.randomUUID().slice(-8)}@example.org`;
  const person = { email, displayName: "Bo", consoleRole: undefined };
  const { linkText } = await createUser(testDeps(service.service), person);
  return `/set-password?token=${linkText}`;
}

const OPEN: Readonly<Record<string, () => Promise<Jar>>> = {
  visitor: async () => new Map(),
  "signed in": openSignedIn,
  "half signed in": openPending,
};

test.each(cases("path", "visitor", "sent", "retained", "focus")`
  /login                | visitor         | {"email":"ada@example.org","password":" typed password"}         | email         | password
  /login                | visitor         | {"email":"  ","password":"typed password"}                       |               | email
  /account              | signed in      | {"name":"Typed Name","picture":"http://typed.example.org"}       | name, picture | picture
  /account              | signed in      | {"name":"two\\nlines","picture":"http://typed.example.org"}       | name, picture | name
  /account/password     | signed in      | {"present":"typed present","password":"seven slow green boats"}  |               | present
  /account/security/app | signed in      | {"code":"typed-12"}                                              |               | code
  /second-factor        | half signed in | {"code":"typed-12"}                                              |               | code
  /second-factor        | half signed in | {"recovery":"typed-code-12"}                                     |               | recovery
  /set-password         | visitor         | {"password":"typed password"}                                    |               | password
`)(
  "a rejected form of $path retains $retained, never secrets, with the focus in $focus",
  async ({ path, visitor, sent, retained, focus }) => {
    const jar = (await OPEN[visitor]?.()) ?? new Map();
    const typed: Record<string, string> = JSON.parse(sent);
    const kept = retained.split(", ");
    const first = path === "/set-password" ? await makeLinkPath() : path;
    const page = await visit(service, jar, first);
    const fields = { ...readHidden(page.text), ...typed };
    const { status, text } = await visit(service, jar, path, { fields });
    expect([status, readValues(text, Object.keys(typed))]).toEqual([
      422,
      Object.fromEntries(
        Object.entries(typed).map(([name, value]) => [name, kept.includes(name) ? value : ""]),
      ),
    ]);
    expect(
      [...text.matchAll(/<input [^>]*\bid="(\w+)"[^>]* autofocus/g)].map(([, id]) => id),
    ).toEqual([focus]);
  },
);

/** The values of visible fields. */
function readValues(page: string, names: readonly string[]) {
  return Object.fromEntries(
    names.map((name) => {
      const value = new RegExp(`<input [^>]*\\bid="${name}"[^>]* value="([^"]*)"`).exec(page)?.[1];
      return [name, value];
    }),
  );
}

test("each button that shows a password has its own name", async () => {
  const { text } = await visit(service, await openSignedIn(), "/account/password");
  const names = [...text.matchAll(/<button class="reveal-button".*?<\/button>/g)].map(([button]) =>
    button.replaceAll(/<[^>]+>/g, ""),
  );
  expect(names).toEqual(["Show current password", "Show new password"]);
});
