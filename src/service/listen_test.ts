import { expect, test } from "bun:test";
import { listen } from "./listen.ts";

test("a response that ends its connection says so, also to a request from before the stop", async () => {
  const [arrived, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const fetch = async (request: Request) => {
    if (request.url.endsWith("/slow")) {
      arrived.resolve();
      await answer.promise;
    }
    return new Response("done");
  };
  const service = {
    fetch,
    adminFetch: fetch,
    drain: () => answer.resolve(),
    close: () => Promise.resolve(),
  };
  const serving = listen(service, { host: "127.0.0.1", port: 0, log: () => undefined });
  const before = await readRaw(serving.port, "/fast");
  expect(before).toContain("200 OK");
  expect(before.toLowerCase()).not.toContain("connection: close");
  const slow = readRaw(serving.port, "/slow");
  await arrived.promise;
  await serving.stop();
  expect((await slow).toLowerCase()).toContain("connection: close");
});

/** A response with its headers, as sent. */
async function readRaw(port: number, path: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = "";
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data: (_, bytes) => {
        text += bytes.toString();
        if (text.endsWith("done")) resolve(text);
      },
      close: () => resolve(text),
    },
  });
  socket.write(`GET ${path} HTTP/1.1\r\nhost: test\r\n\r\n`);
  try {
    return await promise;
  } finally {
    socket.end();
  }
}
