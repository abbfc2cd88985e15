/** The second step of a sign-in, through the pages: codes of an authenticator app and recovery codes. */
import { describe, expect, test } from "bun:test";
import {
  DEVICE_COOKIE,
  IDENTITY_COOKIE,
  PENDING_COOKIE,
  SESSION_COOKIE,
  setPasswordByLink,
} from "../../src/identity/mod.ts";
import { makePasswordLink, runOnPerson, setDisabled } from "../../src/records/people/mod.ts";
import { testDeps } from "../support/deps.ts";
import { expectRedirect, textOf } from "../support/page_text.ts";
import {
  type Jar,
  makePerson,
  OLD_SIGN_IN,
  PASSWORD,
  type Person,
  readHidden,
  readMe,
  readToken,
  signInAs,
  submitSignIn,
  visit,
} from "../support/people.ts";
import {
  enrol,
  enrolPerson,
  enterFactor,
  passPassword,
  readCodes,
  readKey,
  SECURITY,
} from "../support/second_factor.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ identity: () => ({ cookieDomain: "example.org" }) }));

const write = (text: string) => service.service.admin.message(`${text}; select 1`);
/** Attempts of other tests come from the same address. */
const forget = () => write("delete from rowhouse.throttle");

async function listEvents({ id }: Person): Promise<string[]> {
  const rows = await service.query<{ action: string }>(
    "select action from rowhouse.audit where user_id = $1::text::uuid order by id",
    [id],
  );
  return rows.map(({ action }) => action);
}

async function countFactors({ id }: Person): Promise<number> {
  const stored = "select from rowhouse.totp_factors where user_id = $1::text::uuid";
  return (await service.query(stored, [id])).length;
}

/** By a link from an administrator. */
async function setPassword(email: string): Promise<void> {
  const deps = { ...testDeps(service.service), db: service.service.db };
  const { linkText } = await makePasswordLink(deps, email);
  expect(await setPasswordByLink(deps, linkText, PASSWORD)).toBe(true);
}

const isSignedIn = (jar: Jar) => jar.has(SESSION_COOKIE) && jar.has(IDENTITY_COOKIE);
type Enrolled = Awaited<ReturnType<typeof enrolPerson>>;

test("the page of a new app keeps its key over a reload, for one session, until it is stored", async () => {
  const person = await makePerson(service);
  const jar = await signInAs(service, person);
  const keyOf = async (of: Jar) => readKey((await visit(service, of, `${SECURITY}/app`)).text);
  const key = await keyOf(jar);
  expect(await keyOf(jar)).toBe(key);
  expect(await keyOf(await signInAs(service, person))).not.toBe(key);
  const other = await signInAs(service, await makePerson(service));
  expect(await keyOf(other)).not.toBe(key);
  expect((await enrol(service, jar)).key).toBe(key);
  expect(await keyOf(jar)).not.toBe(key);
});

describe("a person with a second factor", () => {
  test("gets no session for the password, and a session for a code of the app", async () => {
    const { person, app } = await enrolPerson(service, await makePerson(service));
    const { jar, location } = await passPassword(service, person);
    expect([location, [...jar.keys()].sort()]).toEqual([
      "/second-factor",
      ["__Host-rowhouse_form", PENDING_COOKIE],
    ]);
    expect((await visit(service, jar, "/account")).status).toBe(303);
    expect((await visit(service, jar, location)).text).toContain(person.email);
    const response = await enterFactor(service, jar, {
      code: ` ${app.code().slice(0, 3)} ${app.code().slice(3)}`,
    });
    expectRedirect(response, "/login");
    expect(isSignedIn(jar)).toBe(true);
    expect(jar.has(PENDING_COOKIE)).toBe(false);
    expect(jar.has(DEVICE_COOKIE)).toBe(true);
    expect((await visit(service, jar, "/account")).status).toBe(200);
    expect(await listEvents(person)).toEqual([
      "create_user",
      "set_password",
      "sign_in",
      "add_second_factor",
      "sign_in",
    ]);
    const [row] = await service.query<{ kind: string }>(
      "select details ->> 'secondFactor' as kind from rowhouse.audit where user_id = $1::text::uuid order by id desc limit 1",
      [person.id],
    );
    expect(row).toEqual({ kind: "totp" });
  });

  test("continues only to the app, or to the page of the Console", async () => {
    const target = await service.makeApp(undefined, { origins: ["https://next.example.org"] });
    const { person, app } = await enrolPerson(service, await makePerson(service));
    const path = `/authorize?app=${target.slug}&redirect_uri=https%3A%2F%2Fnext.example.org%2Fx`;
    const { jar, location } = await passPassword(service, person, { path });
    expect(location).toStartWith("/second-factor?app=");
    const elsewhere = location.replace("next.example", "evil.example");
    expect((await visit(service, jar, elsewhere)).status).toBe(400);
    const page = await visit(service, jar, location);
    expect(page.headers.get("content-security-policy")).toContain("https://next.example.org");
    const response = await enterFactor(service, jar, { path: location, code: app.code() });
    expect(response.headers.get("location")).toBe("https://next.example.org/x");
  });

  test.each<{ name: string; make: (of: Enrolled) => string | Promise<string> }>([
    { name: "wrong", make: () => "000000" },
    { name: "too old", make: ({ app }) => app.code({ steps: -4 }) },
    { name: "not yet valid", make: ({ app }) => app.code({ steps: 4 }) },
    {
      name: "already used",
      make: async ({ app, person }) => {
        const code = app.code();
        const { jar } = await passPassword(service, person);
        await enterFactor(service, jar, { code });
        expect(isSignedIn(jar)).toBe(true);
        return code;
      },
    },
  ])("cannot sign in with a code that is $name", async ({ make }) => {
    const enrolled = await enrolPerson(service, await makePerson(service));
    const { person, app } = enrolled;
    const code = await make(enrolled);
    const { jar } = await passPassword(service, person);
    const response = await enterFactor(service, jar, { code });
    expect([response.status, isSignedIn(jar)]).toEqual([422, false]);
    expect(response.text).toContain("was already used");
    expect(await listEvents(person)).toContain("second_factor_rejected");
    // The sign-in still waits for a code that is newer than all used codes.
    await enterFactor(service, jar, { code: app.code({ steps: 1 }) });
    expect(isSignedIn(jar)).toBe(true);
  });

  test("gets one session for one code that is sent several times in parallel", async () => {
    const { person, app } = await enrolPerson(service, await makePerson(service));
    const jars = [];
    for (let i = 0; i < 4; i++) jars.push((await passPassword(service, person)).jar);
    const code = app.code();
    await Promise.all(jars.map((jar) => enterFactor(service, jar, { code })));
    expect(jars.filter(isSignedIn)).toHaveLength(1);
    await forget();
  });

  test.each<[name: string, paste: (code: string) => string]>([
    [
      "full width",
      (code) => code.replace(/[!-~]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)),
    ],
    ["spaces and a line end", (code) => `\u00a0${code.slice(0, 3)}\u2009${code.slice(3)}\r\n`],
    ["dashes", (code) => `${code.slice(0, 3)}–${code.slice(3)}`],
    ["invisible characters", (code) => `\u200e${code.slice(0, 3)}\u200b${code.slice(3)}\ufeff`],
    ["quotes", (code) => `“${code}”`],
  ])("can paste a code with %s", async (_name, paste) => {
    const { person, app, codes } = await enrolPerson(service, await makePerson(service));
    const first = await passPassword(service, person);
    const used = await enterFactor(service, first.jar, { code: paste(app.code()) });
    expect([used.status, isSignedIn(first.jar)]).toEqual([303, true]);
    const second = await passPassword(service, person);
    const recovered = await enterFactor(service, second.jar, { recovery: paste(codes[0] ?? "") });
    expect([recovered.status, isSignedIn(second.jar)]).toEqual([303, true]);
  });

  test("can use a recovery code once, and sees the number of remaining codes", async () => {
    const { person, codes } = await enrolPerson(service, await makePerson(service));
    expect(new Set(codes).size).toBe(10);
    const [recovery = ""] = codes;
    const first = await passPassword(service, person);
    const used = await enterFactor(service, first.jar, {
      recovery: recovery.toUpperCase().replaceAll("-", " "),
    });
    expect([used.status, isSignedIn(first.jar)]).toEqual([303, true]);
    expect((await visit(service, first.jar, SECURITY)).text).toContain("9 left");
    const second = await passPassword(service, person);
    const again = await enterFactor(service, second.jar, { recovery });
    expect([again.status, isSignedIn(second.jar)]).toEqual([422, false]);
    expect(again.text).toContain("reset your second factor");
    expect(await listEvents(person)).toContain("use_recovery_code");
  });

  test("has five attempts, cannot use a correct sixth code, and can use a recovery code", async () => {
    const { person, app, codes } = await enrolPerson(service, await makePerson(service));
    const { jar } = await passPassword(service, person);
    for (let i = 0; i < 5; i++)
      expect((await enterFactor(service, jar, { code: "000000" })).status).toBe(422);
    const sixth = await enterFactor(service, jar, { code: app.code() });
    expect(sixth.status).toBe(429);
    expect(sixth.headers.has("retry-after")).toBe(true);
    expect(isSignedIn(jar)).toBe(false);
    expect(textOf(sixth)).toMatch(/until .+ UTC ?, then try again\. Or use a recovery code\./);
    await enterFactor(service, jar, { recovery: codes[0] ?? "" });
    expect(isSignedIn(jar)).toBe(true);
  });

  test("cannot guess codes beyond a long-term limit", async () => {
    const { person, app } = await enrolPerson(service, await makePerson(service));
    const { jar } = await passPassword(service, person);
    await enterFactor(service, jar, { code: "000000" });
    await write(
      `update rowhouse.throttle set attempts = 99 where key like '${person.id} lasting totp'`,
    );
    await write(`delete from rowhouse.throttle where key not like '% lasting %'`);
    expect((await enterFactor(service, jar, { code: "000000" })).status).toBe(422);
    expect((await enterFactor(service, jar, { code: app.code() })).status).toBe(429);
    expect(await listEvents(person)).toContain("second_factor_throttled");
  });
});

describe("a pending sign-in", () => {
  const PENDING = "rowhouse.pending_sign_ins";
  const OTHER = `(select id from rowhouse.users where id <> $1 limit 1)`;
  test.each([
    ["has expired", `update ${PENDING} set expires_at = now() where user_id = $1`],
    ["belongs to another person", `update ${PENDING} set user_id = ${OTHER} where user_id = $1`],
    ["has ended", `delete from ${PENDING} where user_id = $1`],
  ])("cannot continue if it %s", async (_, spoil) => {
    const { person, app } = await enrolPerson(service, await makePerson(service));
    const { jar, location } = await passPassword(service, person);
    const page = await visit(service, jar, location);
    await service.query(spoil, [person.id]);
    const fields = { form_token: readToken(page.text), code: app.code() };
    const response = await visit(service, jar, location, { fields });
    expect([response.status, isSignedIn(jar)]).toEqual([400, false]);
    expect((await visit(service, jar, location)).status).toBe(303);
  });

  test.each(
    Object.entries<(person: Person, jar: Jar) => Promise<unknown>>({
      "disabling the person": async ({ email }) => {
        await setDisabled(service.service, email, true);
        await setDisabled(service.service, email, false);
      },
      "an administrator who ends all sessions": ({ email }) =>
        runOnPerson(service.service, "end_sessions", email),
      "a reset of the second factor": ({ email }) =>
        runOnPerson(service.service, "reset_second_factor", email),
      "a link that sets a new password": ({ email }) => setPassword(email),
      "a new password": (_, jar) => send(jar, "/account/password", CHANGED),
      "signing out everywhere": (_, jar) => send(jar, "/sign-out", EVERYWHERE),
      "removing the last second factor": async (_, jar) => {
        const { text } = await visit(service, jar, `${SECURITY}?remove=app`);
        await visit(service, jar, SECURITY, { fields: readHidden(text) });
      },
      "ending all other sessions": (_, jar) =>
        send(jar, "/account/sessions", { session: "others" }),
    }),
  )("ends by %s", async (_, end) => {
    await forget();
    const { person, app, jar: signedIn } = await enrolPerson(service, await makePerson(service));
    const { jar } = await passPassword(service, person);
    const page = await visit(service, jar, "/second-factor");
    expect(page.status).toBe(200);
    await end(person, signedIn);
    const fields = { ...readHidden(page.text), code: app.code() };
    const response = await visit(service, jar, "/second-factor", { fields });
    expect([response.status, isSignedIn(jar)]).toEqual([400, false]);
    expect((await visit(service, jar, "/second-factor")).status).toBe(303);
  });

  const EVERYWHERE = { everywhere: "yes" };
  const NEW = "seven quiet boats at noon";
  const CHANGED = { present: PASSWORD, password: NEW };
  async function send(jar: Jar, path: string, typed: Record<string, string>): Promise<void> {
    const form_token = readToken((await visit(service, jar, "/account")).text);
    const { status } = await visit(service, jar, path, { fields: { form_token, ...typed } });
    expect(status).toBe(303);
  }

  test("belongs to one person, and another person's code creates no session", async () => {
    const one = await enrolPerson(service, await makePerson(service));
    const other = await enrolPerson(service, await makePerson(service));
    const { jar } = await passPassword(service, one.person);
    expect((await enterFactor(service, jar, { code: other.app.code() })).status).toBe(422);
    expect((await enterFactor(service, jar, { recovery: other.codes[0] ?? "" })).status).toBe(422);
    expect(isSignedIn(jar)).toBe(false);
  });
});

test("the first authenticator app ends all other sessions, including those of apps, and another authenticator ends none", async () => {
  const person = await makePerson(service);
  const [stolen, jar] = [await signInAs(service, person), await signInAs(service, person)];
  const whoAmI = async (one: Jar) => (await readMe(service, one)).status;
  expect((await visit(service, jar, SECURITY)).text).toContain("ends all your other sessions");
  const { app, response } = await enrol(service, jar);
  expect(response.text).toContain("All your other sessions have ended");
  expect([await whoAmI(stolen), await whoAmI(jar)]).toEqual([401, 200]);
  const { jar: second } = await passPassword(service, person);
  await enterFactor(service, second, { code: app.code() });
  const next = await enrol(service, jar);
  expect(next.response.text).not.toContain("All your other sessions");
  expect([await whoAmI(second), await whoAmI(jar)]).toEqual([200, 200]);
});

test("changing a factor requires a recent sign-in", async () => {
  const { jar, person } = await enrolPerson(service, await makePerson(service));
  await write(
    `update rowhouse.sessions set proven_at = ${OLD_SIGN_IN} where user_id = '${person.id}'`,
  );
  expect((await visit(service, jar, SECURITY)).text).toContain("sign in again");
  const form_token = readToken((await visit(service, jar, "/account")).text);
  for (const act of ["remove", "codes"]) {
    const response = await visit(service, jar, SECURITY, { fields: { form_token, act } });
    expectRedirect(response, "/login?to=%2Faccount%2Fsecurity");
  }
  for (const path of [`${SECURITY}/app`, `${SECURITY}?remove=app`])
    expect((await visit(service, jar, path)).headers.get("location")).toStartWith("/login?to=");
  expect(await countFactors(person)).toBe(1);
  // A password without the second factor does not count as a recent sign-in, either.
  await write(
    `update rowhouse.sessions set proven_at = now(), second_factor_at = null where user_id = '${person.id}'`,
  );
  expect((await visit(service, jar, SECURITY)).text).toContain("sign in again");
});

test("new recovery codes replace the old codes, and do not exist without the authenticator app", async () => {
  const { jar, person, codes } = await enrolPerson(service, await makePerson(service));
  const fields = readHidden((await visit(service, jar, SECURITY)).text);
  const made = readCodes((await visit(service, jar, SECURITY, { fields })).text);
  expect([made.length, made.some((code) => codes.includes(code))]).toEqual([10, false]);
  const { jar: other } = await passPassword(service, person);
  expect((await enterFactor(service, other, { recovery: codes[0] ?? "" })).status).toBe(422);
  const asked = await visit(service, jar, `${SECURITY}?remove=app`);
  expect(textOf(asked)).toContain("This is your only second factor.");
  const removed = await visit(service, jar, SECURITY, { fields: readHidden(asked.text) });
  expect(removed.status).toBe(303);
  const left = "select from rowhouse.recovery_codes where user_id = $1::text::uuid";
  expect(await service.query(left, [person.id])).toEqual([]);
  const free: Jar = new Map();
  await submitSignIn(service, free, { email: person.email });
  expect(isSignedIn(free)).toBe(true);
});

test("reloading the page of recovery codes creates no codes, and the page states that", async () => {
  const { jar, person, codes, sent } = await enrolPerson(service, await makePerson(service));
  const SHOWN = `${SECURITY}?done=shown`;
  const again = await visit(service, jar, `${SECURITY}/app`, { fields: sent });
  const CHANGED = `${SECURITY}?done=app-changed`;
  expectRedirect(again, CHANGED);
  const page = await visit(service, jar, CHANGED);
  expect(textOf(page)).toContain("The authenticator app was already set up");
  const fields = readHidden(page.text);
  const made = readCodes((await visit(service, jar, SECURITY, { fields })).text);
  for (const code of made) service.secrets.add(code);
  const remade = await visit(service, jar, SECURITY, { fields });
  expect([made.length, remade.headers.get("location")]).toEqual([10, SHOWN]);
  expect(textOf(await visit(service, jar, SHOWN))).toContain("create new codes");
  for (const [recovery = "", want] of [
    [codes[0], 422],
    [made[0], 303],
  ] as const) {
    const { jar: other } = await passPassword(service, person);
    expect((await enterFactor(service, other, { recovery })).status).toBe(want);
  }
});

test("removing a second factor requires confirmation, with a warning for the last factor", async () => {
  const { jar } = await enrolPerson(service, await makePerson(service));
  const page = await visit(service, jar, SECURITY);
  expect(readHidden(page.text)["act"]).toBe("codes");
  expect(page.text).toContain(`href="${SECURITY}?remove=app"`);
});

test("an authenticator app is added only after a valid code", async () => {
  const person = await makePerson(service);
  const jar = await signInAs(service, person);
  const page = await visit(service, jar, `${SECURITY}/app`);
  const hidden = readHidden(page.text);
  const fields = { ...hidden, code: "000000" };
  expect((await visit(service, jar, `${SECURITY}/app`, { fields })).status).toBe(422);
  const other = await signInAs(service, await makePerson(service));
  const theirs = await enrol(service, other);
  expect(theirs.codes).toHaveLength(10);
  expect(await countFactors(person)).toBe(0);
});

describe("the long-term limit of codes", () => {
  test("counts all devices together that signed in before the factor existed", async () => {
    await forget();
    const person = await makePerson(service);
    const thief = [await signInAs(service, person), await signInAs(service, person)];
    await enrolPerson(service, person);
    const statuses = [];
    for (const signedIn of thief) {
      const device = signedIn.get(DEVICE_COOKIE) ?? "";
      const { jar } = await passPassword(service, person, {
        jar: new Map([[DEVICE_COOKIE, device]]),
      });
      for (let i = 0; i < 3; i++)
        statuses.push((await enterFactor(service, jar, { code: "000000" })).status);
    }
    expect(statuses).toEqual([422, 422, 422, 422, 422, 429]);
  });

  test("is separate for a device that has passed or added the factor", async () => {
    const { person, app, jar: adding } = await enrolPerson(service, await makePerson(service));
    const shown = await passPassword(service, person);
    await enterFactor(service, shown.jar, { code: app.code() });
    await write(
      `insert into rowhouse.throttle values ('${person.id} totp', 1000, now() + interval '1 day')`,
    );
    const stranger = await passPassword(service, person);
    expect((await enterFactor(service, stranger.jar, { code: "000000" })).status).toBe(429);
    for (const known of [adding, shown.jar]) {
      const device = new Map([[DEVICE_COOKIE, known.get(DEVICE_COOKIE) ?? ""]]);
      const { jar } = await passPassword(service, person, { jar: device });
      expect((await enterFactor(service, jar, { code: "000000" })).status).toBe(422);
    }
  });

  test("is reset by a new password and by a factor reset", async () => {
    const { person } = await enrolPerson(service, await makePerson(service));
    const key = `${person.id} lasting totp`;
    const useUp = () =>
      write(
        `insert into rowhouse.throttle values ('${key}', 100, now() + interval '20 days') on conflict (key) do nothing`,
      );
    const isUsedUp = async () =>
      (await service.query("select from rowhouse.throttle where key = $1", [key])).length === 1;
    const seen = [];
    for (let i = 0; i < 3; i++) {
      await useUp();
      await setPassword(person.email);
      seen.push(await isUsedUp());
    }
    await runOnPerson(service.service, "reset_second_factor", person.email);
    expect([...seen, await isUsedUp()]).toEqual([false, true, true, false]);
  });
});
