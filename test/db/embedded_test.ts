import { expect, spyOn, test } from "bun:test";
import { findFreePort } from "../../src/db/embedded/server.ts";

test("findFreePort() skips a port in use", async () => {
  const port = await findFreePort();
  const listener = Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } });
  const drawn = spyOn(Math, "random").mockReturnValueOnce((port - 20_000) / 12_000 + 1e-9);
  try {
    expect(await findFreePort()).not.toBe(port);
    expect(drawn.mock.calls.length).toBeGreaterThan(1);
  } finally {
    drawn.mockRestore();
    listener.stop();
  }
});
