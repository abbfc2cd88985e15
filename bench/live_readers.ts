/** Many readers of event streams, on raw sockets because `fetch` limits the number of connections. @module */
import type { StageApp } from "./stage.ts";

/** Streams opened at the same time. */
const PACE = 32;
const PUT = '"put":';
const TITLE = /"title":"([\d.]+)"/g;

export type Crowd = {
  /** Ends the streams. Returns the number of rows that all readers received, and one reader's delays in ms for each app. */
  readonly close: () => { delivered: number; delays: number[] };
};

/** @throws {Error} a stream was not opened */
export async function openReaders(
  url: string,
  apps: readonly StageApp[],
  readersPerApp: number,
): Promise<Crowd> {
  const { hostname, port } = new URL(url);
  const delays: number[] = [];
  let delivered = 0;
  let isClosing = false;
  const open = async (key: string, isTimed: boolean) => {
    const opened = Promise.withResolvers<void>();
    const request = `GET /v1/data/db/tasks/changes HTTP/1.1\r\nhost: ${hostname}\r\naccept: text/event-stream\r\nauthorization: Bearer ${key}\r\n\r\n`;
    let rest = "";
    const socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        open: (opening) => void opening.write(request),
        data: (_, bytes) => {
          const text = rest + bytes.toString("latin1");
          if (text.includes("event: ready")) opened.resolve();
          delivered += text.split(PUT).length - 1;
          // Keeps a possible beginning of the next match.
          rest = text.slice(text.endsWith(PUT) ? text.length : 1 - PUT.length);
          if (isTimed)
            for (const [, time] of text.matchAll(TITLE))
              delays.push(performance.now() - Number(time));
        },
        close: () => {
          if (!isClosing) opened.reject(new Error("A stream ended"));
        },
      },
    });
    await opened.promise;
    return socket;
  };
  const waiting = apps.flatMap(({ key }) =>
    Array.from({ length: readersPerApp }, (_, index) => ({ key, isTimed: index === 0 })),
  );
  const sockets: Awaited<ReturnType<typeof open>>[] = [];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      sockets.push(await open(next.key, next.isTimed));
  };
  await Promise.all(Array.from({ length: PACE }, work));
  return {
    close: () => {
      isClosing = true;
      for (const socket of sockets) socket.terminate();
      return { delivered, delays };
    },
  };
}
