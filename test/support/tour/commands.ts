/** One run of every command of an operator on one PostgreSQL, as a script runs it. @module */
import { join } from "node:path";
import { APP_SWITCH_NAMES, toDashed } from "../../../src/app_switch.ts";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { defineSchema, t } from "../../../src/schema/mod.ts";
import { makeProject, type Outcome, runHere } from "../command.ts";
import { TEST_IDENTITY_SECRET } from "../deps.ts";
import { findMisfits, findShape } from "../json_shape.ts";
import { makePerson, type Person } from "../people.ts";
import { enrolPerson } from "../second_factor.ts";
import type { TestApp, TestService } from "../service.ts";

/** Commands that need another database, by the tests that run them. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  "test/citus/": ["admin move-app", "admin convert-to-citus"],
};
const EMAIL = "operated@example.org";
const RENAMED = "operated.again@example.org";
const SEVERAL = "first.operated@example.org second.operated@example.org";
const SCHEMA = defineSchema({
  operated: { title: t.string().required(), parent: t.ref("operated") },
});

type Ran = { name: string; argv: readonly string[]; outcome: Outcome };

/** Runs the commands in an order in which each can succeed. */
export async function tourCommands(service: TestService): Promise<Ran[]> {
  using project = makeProject();
  const env = {
    ADMIN_DATABASE_URL: service.database.adminUrl,
    COOKIE_DOMAIN: "example.org",
    IDENTITY_URL: "https://id.example.org",
    IDENTITY_SECRET: TEST_IDENTITY_SECRET,
  };
  const ran: Ran[] = [];
  const run = async (...argv: string[]): Promise<Record<string, unknown>> => {
    const outcome = await runHere(["admin", ...argv, "--json"], { ...project, env });
    ran.push({ name: `admin ${argv[0]}`, argv, outcome });
    return outcome.code === 0 ? JSON.parse(outcome.out) : {};
  };
  const owner = await service.makeApp(SCHEMA, { slug: "owner" });
  const user = await service.makeApp(SCHEMA, { slug: "user" });
  const row = { method: "POST", json: { title: "one" } };
  for (const app of [owner, user]) await service.call(app, "/v1/data/db/operated", row);
  const { person } = await enrolPerson(service, await makePerson(service));
  const file = join(project.folder, "operated.archive");
  for (const line of toLines({ owner, user, person, file })) await run(...line.split(" "));
  const { keyId } = await run("issue-key", "owner", "--name", "toured");
  const rolled = await run("roll-key", String(keyId), "--grace", "1h");
  await run("revoke-key", String(rolled["keyId"]));
  await run("import-app", file, "--as", "copied");
  for (const slug of ["copied", "user", "owner"]) await run("delete-app", slug, "--yes");
  return ran;
}

/** Lists the values in documents that do not fit the type in the command's help. */
export async function findMisfitsOf(ran: readonly Ran[]): Promise<string[]> {
  const commands = await Promise.all(COMMANDS.map(({ load }) => load()));
  return ran.flatMap(({ name, argv, outcome }) => {
    const command = commands.find((one) => one.name === name);
    const shape = command && findShape(command, argv);
    if (shape === undefined) return [];
    return findMisfits(shape, JSON.parse(outcome.out)).map((path) => `${name}: ${path}`);
  });
}

/** Lists the commands that have not run. */
export function findUnrun(ran: readonly Ran[]): string[] {
  const names = new Set([...Object.values(ELSEWHERE).flat(), ...ran.map(({ name }) => name)]);
  return COMMANDS.map(({ name }) => name).filter(
    (name) => name.startsWith("admin ") && !names.has(name),
  );
}

type Subjects = { owner: TestApp; user: TestApp; person: Person; file: string };

function toLines({ owner, user, person, file }: Subjects): string[] {
  return [
    "create-app tour --origin https://tour.example.org",
    "list-apps",
    "set-limit tour --per-minute 60 --per-key 30",
    "set-origins tour --add-origin https://second.example.org",
    ...APP_SWITCH_NAMES.flatMap((name) =>
      ["on", "off"].map((state) => `set-app tour ${toDashed(name)} ${state}`),
    ),
    "set-history tour --days 90",
    "rename-app tour toured-app",
    `list-keys ${owner.slug}`,
    `list-pushes ${owner.slug}`,
    "list-tables",
    `create-user ${SEVERAL}`,
    `disable ${SEVERAL}`,
    `enable ${SEVERAL}`,
    `grant ${SEVERAL} ${owner.slug} editor`,
    `revoke ${SEVERAL} ${owner.slug}`,
    `create-user ${EMAIL}`,
    `password-link ${EMAIL}`,
    `change-email ${EMAIL} ${RENAMED}`,
    `disable ${RENAMED}`,
    `enable ${RENAMED}`,
    `reset-second-factor ${person.email}`,
    `set-role ${RENAMED} admin`,
    `grant ${RENAMED} ${owner.slug} editor`,
    `list-grants ${owner.slug}`,
    `revoke ${RENAMED} ${owner.slug}`,
    "revoke --provider ours --yes",
    `sessions ${person.email}`,
    `sessions ${person.email} --end`,
    `end-sessions --app ${owner.slug}`,
    `invite new@example.org ${owner.slug} reader`,
    "list-invitations",
    "resend-invitation new@example.org",
    "withdraw-invitation new@example.org",
    "list-users",
    `show-user ${person.email}`,
    `export-user ${person.email}`,
    "confirm-addresses --yes",
    `delete-user ${RENAMED} --yes`,
    `transfer-table operated ${user.slug}`,
    `transfer-table operated ${owner.slug}`,
    `export-app ${owner.slug} ${file}`,
    `end-registration ${user.slug} operated --yes`,
    `end-registration ${owner.slug} operated --yes`,
    "drop-table operated --yes",
    "audit",
  ];
}
