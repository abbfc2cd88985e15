/** What the guard finds about listeners. Each attack runs in a transaction that is rolled back. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { countLockWaits, whileLocked } from "../support/held_lock.ts";
import { openTestService, type TestService, UNGUARDED } from "../support/service.ts";

const schema = defineSchema({ heard: { name: t.string() } });
const WHEN = "when (current_setting('rowhouse.listens', true) <> '')";
const CALL = "execute function rowhouse.listen_to_delete()";
const LISTENER = `after delete on data.heard referencing old table as "$was" for each statement ${WHEN} ${CALL}`;
const DROP = "drop trigger listen_to_delete on data.heard";
const FORM = "Table data.heard must have no triggers but listeners, and no rules";
const COUNT = "Table data.heard must have the listeners of its apps";

let service: TestService;
let superuser: postgres.Sql;
beforeAll(async () => {
  service = await openTestService({ service: { previews: ["history"], ...UNGUARDED } });
  const app = await service.makeApp(schema);
  await service.makeApp(defineSchema({ unheard: { name: t.string() } }));
  await setAppSwitch(service.service, app.slug, ["history", true]);
  superuser = postgres(service.database.superuserUrl, { max: 1, onnotice: () => undefined });
});
afterAll(async () => {
  await superuser.end();
  await service.close();
});

/** Finds the issues after the attack, and undoes it. */
async function findIssues(attack: string): Promise<string[]> {
  let issues: string[] = [];
  const undone = new Error("undone");
  await superuser
    .begin(async (transaction) => {
      await transaction.unsafe(attack);
      const [found] = await transaction.unsafe<{ issues: string[] }[]>(
        "select rowhouse.find_issues() as issues",
      );
      issues = found?.issues ?? [];
      throw undone;
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  return issues;
}

const ATTACKS: Record<string, { attack: string; issues: string[] }> = {
  "a dropped listener": { attack: DROP, issues: [COUNT] },
  "another name": {
    attack: `${DROP}; create trigger listen_too ${LISTENER}`,
    issues: [FORM],
  },
  "one more": { attack: `create trigger listen_too ${LISTENER}`, issues: [FORM, COUNT] },
  "another function": {
    attack: `${DROP}; create trigger listen_to_delete ${LISTENER.replace(CALL, "execute function suppress_redundant_updates_trigger()")}`,
    issues: [FORM],
  },
  "another condition": {
    attack: `${DROP}; create trigger listen_to_delete ${LISTENER.replace("<> ''", "<> 'x'")}`,
    issues: [FORM],
  },
  "no condition": {
    attack: `${DROP}; create trigger listen_to_delete ${LISTENER.replace(WHEN, "")}`,
    issues: [FORM],
  },
  "another event": {
    attack: `${DROP}; create trigger listen_to_delete ${LISTENER.replace("after delete", "after update")}`,
    issues: [FORM],
  },
  "another moment": {
    attack: `${DROP}; create trigger listen_to_delete before delete on data.heard for each statement ${WHEN} ${CALL}`,
    issues: [FORM],
  },
  "another name of the rows": {
    attack: `${DROP}; create trigger listen_to_delete ${LISTENER.replace("$was", "$were")}`,
    issues: [FORM],
  },
  "each row": {
    attack: `${DROP}; create trigger listen_to_delete ${LISTENER.replace("each statement", "each row")}`,
    issues: [FORM],
  },
  "an argument": {
    attack: `${DROP}; create trigger listen_to_delete ${LISTENER.replace("delete()", "delete('x')")}`,
    issues: [FORM],
  },
  "a disabled listener": {
    attack: "alter table data.heard disable trigger listen_to_delete",
    issues: [FORM],
  },
  "a listener for replicas": {
    attack: "alter table data.heard enable replica trigger listen_to_delete",
    issues: [FORM],
  },
  "a listener on a table without listening apps": {
    attack: `create trigger listen_to_delete ${LISTENER.replace("data.heard", "data.unheard")}`,
    issues: ["Table data.unheard must have the listeners of its apps"],
  },
  "a listener on a table of the service": {
    attack: `create trigger listen_to_delete ${LISTENER.replace("data.heard", "rowhouse.proofs")}`,
    issues: ["Table rowhouse.proofs must have no triggers but listeners, and no rules"],
  },
  "another owner of a function": {
    attack: "alter function rowhouse.listen_to_delete owner to rowhouse_owner",
    issues: ["Function rowhouse.listen_to_delete must belong to rowhouse_listener"],
  },
  "a member of the role": {
    attack: "grant rowhouse_listener to rowhouse_service",
    issues: [
      "Role rowhouse_listener must have only administrators as members, not rowhouse_service",
      "Role rowhouse_service must not be a member of rowhouse_listener",
    ],
  },
  "a membership of the role": {
    attack: "grant rowhouse_tenant to rowhouse_listener",
    issues: ["Role rowhouse_listener must be a member of no other role"],
  },
  "a role that reads": {
    attack: "grant select on rowhouse.row_changes to rowhouse_listener",
    issues: [
      "Relation rowhouse.row_changes must be granted only to rowhouse_tenant, and only for rows",
    ],
  },
  "a role that reads rows": {
    attack: "grant select on data.heard to rowhouse_listener",
    issues: ["Relation data.heard must be granted only to rowhouse_tenant, and only for rows"],
  },
  "a role that signs in": {
    attack: "alter role rowhouse_listener login",
    issues: ["Role rowhouse_listener must exist, without SUPERUSER, BYPASSRLS and LOGIN"],
  },
};

describe.each(["off", "on"])("with quote_all_identifiers %s, the guard", (isQuoted) => {
  const quoted = `set local quote_all_identifiers = ${isQuoted}`;
  test("finds no issue in listeners", async () => {
    expect(await findIssues(quoted)).toEqual([]);
    const renewed = `${DROP}; select rowhouse.fit_listeners('{heard}', 700)`;
    expect(await findIssues(`${quoted}; ${renewed}`)).toEqual([]);
  });

  test.each(Object.keys(ATTACKS))("finds %s", async (name) => {
    const { attack = "", issues = [] } = ATTACKS[name] ?? {};
    expect(await findIssues(`${quoted}; ${attack}`)).toEqual(issues);
  });
});

test("the guard waits for no lock on a table", async () => {
  await whileLocked(service.database.adminUrl, "heard", async () => {
    const issues = await findIssues("set local lock_timeout = 1");
    expect([issues, await countLockWaits(service.service.admin)]).toEqual([[], 0]);
  });
});
