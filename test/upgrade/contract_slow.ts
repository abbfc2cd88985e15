/**
 * The second step of an upgrade: until `rowhouse migrate --contract`, processes of the oldest version serve the migrated database
 * beside the working tree's, whose pushes wait for their end. After it, they do not start, and their sentence says what to do.
 */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { ROOT, runCommand } from "../support/command.ts";
import { definitionOf } from "../support/service.ts";
import { migrateAll, toOperator } from "./database.ts";
import { send } from "./load.ts";
import { OLDEST } from "./packed.ts";
import { type Serving, startServing } from "./serving.ts";
import { openStage } from "./stage.ts";

test("an earlier version serves before the second step, and does not start after it", async () => {
  const stage = await openStage(OLDEST, "18");
  const { addresses, frozen, folder } = stage;
  const open: Serving[] = [];
  const start = async (program: string) => {
    const serving = await startServing({ addresses, program, shape: "one", workers: 1 });
    open.push(serving);
    return serving;
  };
  const contract = () =>
    runCommand(["migrate", "--contract", "--yes"], { folder, env: toOperator(addresses) });
  const ask = ({ url }: Serving, path: string, sent = {}) =>
    send({ url, key: frozen.world.keys.wiki }, path, sent, () => undefined);
  const write = async (serving: Serving) => {
    const json = { title: "written" };
    expect(await ask(serving, "/v1/data/db/pages", { method: "POST", json })).toMatchObject({
      status: 201,
    });
    expect(await ask(serving, "/v1/data/db/pages?limit=1")).toMatchObject({ status: 200 });
  };
  const push = (serving: Serving) => {
    const definition = definitionOf(defineSchema({ added: { title: t.string() } }));
    return send(
      { url: serving.url, key: frozen.world.keys.diverged },
      "/v1/data/schema",
      { method: "POST", json: { steps: [{ kind: "define", definition }] } },
      () => undefined,
    );
  };
  try {
    await migrateAll(addresses, ROOT);
    const earlier = await start(stage.program);
    const ours = await start(ROOT);
    await write(earlier);
    await write(ours);
    const waiting = await push(ours);
    expect(waiting).toMatchObject({ status: 409 });
    expect(waiting.text).toContain("Cannot push while a process of a release before");
    expect(await push(earlier)).toMatchObject({ status: 409 });
    expect(await contract()).toMatchObject({ code: 1, err: expect.stringContaining(OLDEST) });
    await earlier.stop();
    expect(await push(ours)).toMatchObject({ status: 200 });
    await (await start(stage.program)).stop();
    await withDatabase(addresses.admin, (admin) =>
      admin.message(
        "update rowhouse.processes set seen_at = seen_at - interval '1 hour' where version like '0.1.%'; select 1",
      ),
    );
    expect(await contract()).toMatchObject({ code: 0 });
    await write(ours);
    expect(await push(ours)).toMatchObject({ status: 200 });
    await expect(start(stage.program)).rejects.toThrow(
      /was upgraded by Rowhouse 0\.2\.0 .*, which does not let 0\.1\.0 .* use it: install 0\.2\.0/,
    );
    const migrated = await runCommand(["migrate"], {
      ...{ folder, program: stage.program, env: toOperator(addresses) },
    });
    expect(migrated).toMatchObject({ code: 1, err: expect.stringContaining("install 0.2.0") });
  } finally {
    for (const serving of open) await serving.stop();
    await stage.close();
  }
}, 600_000);
