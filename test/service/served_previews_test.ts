/** Operators learn of a switch of an app that no running process serves, and of an upgrade that can be finished. */
import { expect, test } from "bun:test";
import { PREVIEWS, type Preview } from "../../src/preview.ts";
import { checkContract, checkSwitches } from "../../src/service/doctor/schema_state.ts";
import { eventually } from "../support/eventually.ts";
import { makePerson, signInAs, visit } from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const SERVED = ["live"] as const;
const service = await share(openTestService({ service: { previews: SERVED } }));
const app = await service.makeApp();
const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));

const { db, admin } = service.service;
const write = (text: string) => admin.message(`${text}; select 1`);
const home = async () => (await visit(service, jar, "/console")).text;
const add = (previews: string, set = "") =>
  write(`insert into rowhouse.processes (id, role, started_at, minute, previews) values (gen_random_uuid(), 'data', now(), now(), ${previews});
    ${set}`);

test("a switch without a process that serves it is a warning of doctor and on Home", async () => {
  const isListed = async () =>
    (await service.query("select from rowhouse.processes where previews = '{live}'")).length > 0;
  await eventually(isListed);
  await write(
    `update rowhouse.apps set switches = '{browser,history,live,people_list}' where id = '${app.id}'`,
  );
  const unserved = PREVIEWS.filter((name) => name !== "filters" && name !== SERVED[0]);
  const expectUnserved = async (names: readonly Preview[]) => {
    const found = await checkSwitches(db);
    expect(found.map(({ level, remedy }) => [level, remedy])).toEqual(
      names.map((name) => [
        "warn",
        `add ${name} to PREVIEW and restart the service, or run rowhouse admin set-app ${app.slug} ${name} off`,
      ]),
    );
    const page = await home();
    const listed = PREVIEWS.filter((name) =>
      page.includes(`does not include <code>${name}</code>`),
    );
    expect(listed.toSorted()).toEqual(names.toSorted());
  };
  await expectUnserved(unserved.toSorted());
  await add("'{history}'");
  await expectUnserved(["browser"]);
  // A process of an earlier release does not say what it serves.
  await add("null");
  await expectUnserved([]);
  await write("update rowhouse.processes set ended_at = now() where previews is null");
  await expectUnserved(["browser"]);
  // No process runs, so none lacks the preview.
  await write("update rowhouse.processes set ended_at = now()");
  await expectUnserved([]);
});

test("an upgrade that can be finished is a warning of doctor and on Home", async () => {
  const contract = "rowhouse migrate --contract";
  const read = async () => [
    (await checkContract(admin)).map(({ level, remedy }) => [level, remedy?.includes(contract)]),
    (await home()).includes(contract),
  ];
  expect(await read()).toEqual([[], false]);
  await write("update rowhouse.code set compatible_from = '0.1.0', compatible_tables = 2");
  expect(await read()).toEqual([[["warn", true]], true]);
  // It would be rejected.
  await write(`insert into rowhouse.processes (id, role, version, started_at, minute, ended_at)
    values (gen_random_uuid(), 'all', '0.1.1 (tables 11, code 0)', now(), now(), now())`);
  expect(await read()).toEqual([[["warn", true]], false]);
});
