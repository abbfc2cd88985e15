/** Rejected actions in the Console are in the audit log: once for each action and reason, only of signed-in people. */
import { expect, test } from "bun:test";
import { IDENTITY_COOKIE, SESSION_COOKIE, toSessionToken } from "../../src/identity/mod.ts";
import { TOKEN_FIELD } from "../../src/pages/mod.ts";
import { FACTOR_GRACE_S } from "../../src/std/limits.ts";
import { listAudit } from "../support/lists.ts";
import {
  type Jar,
  makePerson,
  OLD_SIGN_IN,
  type Person,
  signInAs,
  toCookieHeader,
  visit,
} from "../support/people.ts";
import { enrolPerson } from "../support/second_factor.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ identity: () => ({ cookieDomain: "example.org" }) }));
const app = await service.makeApp();
const other = await makePerson(service, { consoleRole: "admin" });

const write = (text: string) => service.service.admin.message(`${text}; select 1`);
const administrator = async (consoleRole: "admin" | "super_admin" = "super_admin") => {
  const person = await makePerson(service, { consoleRole });
  return { person, jar: await signInAs(service, person) };
};
const ageSignIn = ({ id }: Person) =>
  write(`update rowhouse.sessions set proven_at = ${OLD_SIGN_IN} where user_id = '${id}'`);
/** The actions and reasons of a person's entries, oldest first. */
async function readRejections({ id }: Person): Promise<string[]> {
  return (await listAudit(service.service, 1000))
    .filter(({ action, actor }) => action === "console_rejected" && actor === id)
    .map(({ details, userId, client }) => {
      expect([userId, client]).toEqual([id, "127.0.0.1"]);
      return `${details["action"]} ${details["why"]}`;
    })
    .reverse();
}
const DELETION = () => `/console/apps/${app.slug}/delete`;
const ROLE = () => `/console/people/${other.id}/console-role`;
/** Sends a form with the token of this browser's pages. */
const sendForm = (jar: Jar, path: string, fields: Record<string, string> = {}, origin?: string) => {
  const own = new Request(service.url, { headers: { cookie: toCookieHeader(jar) } });
  return visit(service, new Map(jar), path, {
    fields: { [TOKEN_FIELD]: toSessionToken(own), ...fields },
    ...(origin === undefined ? {} : { origin }),
  });
};

type Case = {
  name: string;
  make: () => Promise<{ person: Person; jar: Jar }>;
  send: (jar: Jar, person: Person) => Promise<{ status: number }>;
  status: number;
  want: string[];
};
test.each<Case>([
  {
    name: "a page and a file for a person without a role",
    make: async () => {
      const person = await makePerson(service, { app, role: "admin" });
      return { person, jar: await signInAs(service, person) };
    },
    send: async (jar) => {
      await visit(service, new Map(jar), "/console");
      return await visit(service, new Map(jar), "/console/activity.csv");
    },
    status: 403,
    want: ["console_home no_role", "console_list_audit no_role"],
  },
  {
    name: "a page for an administrator with an overdue second factor",
    make: administrator,
    send: async (jar, { id }) => {
      await write(
        `update rowhouse.users set factor_asked_at = now() - interval '${FACTOR_GRACE_S} seconds' where id = '${id}'`,
      );
      return await visit(service, new Map(jar), "/console/people");
    },
    status: 303,
    want: ["console_list_people no_second_factor"],
  },
  {
    name: "a Console role from an administrator who is not a super_admin",
    make: () => administrator("admin"),
    send: (jar) => sendForm(jar, ROLE(), { console_role: "super_admin" }),
    status: 403,
    want: ["console_set_console_role not_super_admin"],
  },
  {
    name: "a sensitive form without a recent sign-in",
    make: administrator,
    send: async (jar, person) => {
      await ageSignIn(person);
      return await sendForm(jar, DELETION(), { typed_name: app.slug });
    },
    status: 303,
    want: ["console_delete_app_step old_sign_in"],
  },
  {
    name: "a form with a wrong token",
    make: administrator,
    send: (jar) => sendForm(jar, DELETION(), { [TOKEN_FIELD]: "x".repeat(43) }),
    status: 403,
    want: ["/console/apps/:app/delete form_token"],
  },
  {
    name: "a form of another site",
    make: administrator,
    send: (jar) => sendForm(jar, DELETION(), {}, "https://app.example.org"),
    status: 403,
    want: ["/console/apps/:app/delete other_site"],
  },
])("$name is recorded once with its reason", async ({ make, send, status, want }) => {
  const { person, jar } = await make();
  for (let attempt = 0; attempt < 3; attempt++) {
    expect((await send(jar, person)).status).toBe(status);
    expect(await readRejections(person)).toEqual(want);
  }
  await write("update rowhouse.throttle set ends_at = now() - interval '1 second'");
  await send(jar, person);
  expect(await readRejections(person)).toEqual([...want, ...want]);
});

test("a page that asks for a new sign-in is not recorded", async () => {
  const { person, jar } = await administrator();
  await ageSignIn(person);
  expect((await visit(service, new Map(jar), DELETION())).status).toBe(303);
  const { person: enrolled, jar: own } = await enrolPerson(service, (await administrator()).person);
  await write(
    `update rowhouse.sessions set second_factor_at = null where user_id = '${enrolled.id}'`,
  );
  expect((await visit(service, new Map(own), "/console")).status).toBe(303);
  expect([...(await readRejections(person)), ...(await readRejections(enrolled))]).toEqual([]);
});

test("a visitor without a live session is not recorded", async () => {
  const { person, jar } = await administrator();
  const path = DELETION();
  const count = async () => {
    const [row] = await service.query<{ count: number }>(
      "select count(*)::integer as count from rowhouse.audit where action = 'console_rejected'",
    );
    return row?.count;
  };
  const before = await count();
  const wrong = { fields: { [TOKEN_FIELD]: "x".repeat(43) } };
  for (const kept of ["no cookie", SESSION_COOKIE, IDENTITY_COOKIE]) {
    const half = new Map([...jar].filter(([name]) => name === kept));
    await visit(service, new Map(half), path);
    await visit(service, new Map(half), path, wrong);
  }
  await write(`update rowhouse.sessions set expires_at = now() where user_id = '${person.id}'`);
  await visit(service, new Map(jar), path);
  await visit(service, new Map(jar), path, wrong);
  expect(await count()).toBe(before);
});

test("a failure to record changes no response, and is logged", async () => {
  const person = await makePerson(service);
  const jar = await signInAs(service, person);
  const signature = "function rowhouse.console_log_rejection(rowhouse.visitor, text, text)";
  await write(`revoke execute on ${signature} from rowhouse_console`);
  const { status, text } = await visit(service, new Map(jar), "/console");
  await write(`grant execute on ${signature} to rowhouse_console`);
  expect([status, text.includes("The Console is for administrators")]).toEqual([403, true]);
  expect(service.log.filter((line) => line.includes("rejection not recorded"))).toHaveLength(1);
  expect(await readRejections(person)).toEqual([]);
});
