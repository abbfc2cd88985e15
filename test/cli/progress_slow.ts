/** The progress of a slow push on a terminal. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { makeProject, runCommand, schemaText, startOnTerminal } from "../support/command.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

let project: ReturnType<typeof makeProject>;
const service = await share(openTestService());
const app = await service.makeApp();
beforeEach(() => {
  project = makeProject();
});
afterEach(() => project.remove());

describe("a slow push shows its progress", () => {
  const FRAME = /\r[\u2800-\u28ff] Pushing/;
  const writeSlow = () =>
    project.write("schema/mod.ts", `await Bun.sleep(1500);\n${schemaText("{}")}`);
  const pushOnTerminal = async (extra: Record<string, string>) => {
    writeSlow();
    const env = { ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key, ...extra };
    const push = startOnTerminal(["db", "push"], { folder: project.folder, env });
    await push.until(/Wrote/);
    expect(await push.ended).toBe(0);
    return push.output();
  };

  test("on a terminal, and clears it before other output", async () => {
    const shown = await pushOnTerminal({});
    expect(shown).toMatch(FRAME);
    const frames = shown.lastIndexOf(" Pushing");
    expect(shown.slice(frames)).toStartWith(" Pushing\r\u001B[K");
  });

  test("but not with NO_COLOR", async () => {
    const shown = await pushOnTerminal({ NO_COLOR: "1" });
    expect(shown).not.toContain("Pushing");
    expect(shown).not.toContain("\u001B");
  });

  test("but not without a terminal", async () => {
    writeSlow();
    const env = { ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key };
    const pushed = await runCommand(["db", "push"], { folder: project.folder, env });
    expect(pushed).toMatchObject({ code: 0, err: "" });
  });
});
