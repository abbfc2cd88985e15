/** Every action in the audit log has a label in the Console, which filters by it. */
import { expect, test } from "bun:test";
import { ACTION_LABELS } from "../../src/console/action_labels.ts";

const WRITES =
  /insert into rowhouse\.audit \(actor, action[^)]*\)\s+(?:values \(|select )[^,']+, '([a-z_]+)'/g;

test("every action of the audit log has a text", async () => {
  const files = [...new Bun.Glob("src/db/migrations/*.sql").scanSync()];
  const texts = await Promise.all(files.map((file) => Bun.file(file).text()));
  const actions = texts.flatMap((text) =>
    [...text.matchAll(WRITES)].map(([, action = ""]) => action),
  );
  expect(actions).toContain("add_passkey");
  expect(actions.filter((action) => !(action in ACTION_LABELS))).toEqual([]);
});
