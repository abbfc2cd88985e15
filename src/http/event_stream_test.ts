/** Event streams of slow readers: the bytes that one stream holds, and all streams of a process. */
import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { eventually } from "../../test/support/eventually.ts";
import {
  EVENT_STREAM_HEADERS,
  type EventStream,
  makeStreamMemory,
  openEventStream,
  pumpEvents,
  type StreamMemory,
} from "./mod.ts";

const KB = 1024;
const BACKLOG = 64 * KB;
const PIECE = 16 * KB;
const NEVER = new AbortController().signal;

type Opened = EventStream & { ended: () => boolean };

function open(memory: StreamMemory): Opened {
  let ended = false;
  const onEnd = () => {
    ended = true;
  };
  return { ...openEventStream(memory, { signal: NEVER, onEnd }), ended: () => ended };
}

const bytes = (size: number, fill = 0) => new Uint8Array(size).fill(fill);

describe("a stream", () => {
  test("holds the event that it is sending and 64 KB more", () => {
    const memory = makeStreamMemory();
    const stream = open(memory);
    stream.send(bytes(1024 * KB));
    stream.send(bytes(BACKLOG));
    expect([stream.ended(), memory.bytes()]).toEqual([false, 1024 * KB + BACKLOG]);
    stream.send(bytes(1));
    expect([stream.ended(), memory.bytes()]).toEqual([true, 0]);
  });

  test("sends everything in order, in pieces, and holds nothing once it is read", async () => {
    const memory = makeStreamMemory();
    const stream = open(memory);
    stream.send(bytes(40 * KB, 1));
    stream.send(bytes(3, 2));
    const sizes: number[] = [];
    const got: number[] = [];
    const reader = stream.body.getReader();
    for (let left = 40 * KB + 3; left > 0; ) {
      const { value } = await reader.read();
      sizes.push(value?.length ?? 0);
      got.push(...(value ?? []));
      left -= value?.length ?? 0;
    }
    expect(sizes).toEqual([PIECE, PIECE, 8 * KB, 3]);
    expect(got).toEqual([...bytes(40 * KB, 1), ...bytes(3, 2)]);
    const next = reader.read();
    await eventually(() => memory.bytes() === 0);
    stream.beat();
    expect((await next).value).toEqual(new TextEncoder().encode(": \n\n"));
    stream.close();
    expect((await reader.read()).done).toBe(true);
    expect(stream.ended()).toBe(true);
  });

  test("sends no heartbeat to a reader that is behind", () => {
    const memory = makeStreamMemory();
    const stream = open(memory);
    stream.send(bytes(10));
    for (let beat = 0; beat < 10; beat++) stream.beat();
    expect(memory.bytes()).toBe(10);
  });

  test("releases its memory when its reader leaves", async () => {
    const memory = makeStreamMemory();
    const stream = open(memory);
    stream.send(bytes(100));
    await stream.body.cancel();
    expect([stream.ended(), memory.bytes()]).toEqual([true, 0]);
  });
});

describe("all streams of a process", () => {
  test("count shared bytes once", () => {
    const memory = makeStreamMemory();
    const streams = Array.from({ length: 500 }, () => open(memory));
    const event = bytes(1000 * KB);
    for (const stream of streams) stream.send(event);
    expect(memory.bytes()).toBe(1000 * KB);
    for (const stream of streams) stream.end();
    expect(memory.bytes()).toBe(0);
  });

  test("have one budget: those with the most unread end first", () => {
    const memory = makeStreamMemory(100 * KB);
    const [most, some, little] = [open(memory), open(memory), open(memory)];
    most.send(bytes(50 * KB));
    some.send(bytes(30 * KB));
    little.send(bytes(20 * KB));
    expect([most, some, little].map(({ ended }) => ended())).toEqual([false, false, false]);
    little.send(bytes(1));
    expect([most, some, little].map(({ ended }) => ended())).toEqual([true, false, false]);
    expect(memory.bytes()).toBe(50 * KB + 1);
  });
});

describe("three apps with 500 readers that read nothing", () => {
  const APPS = 3;
  const READERS = 500;
  const BUDGET = 64 * 1024 * KB;

  test("hold less than 64 MB in the process that reads the changes", async () => {
    const memory = makeStreamMemory();
    const streams = Array.from({ length: APPS * READERS }, () => open(memory));
    // The runtime asks for one piece, and cannot send it.
    for (const { body } of streams) void body.getReader().read();
    await Bun.sleep(1);
    let most = 0;
    for (let round = 0; round < 5; round++) {
      const events = Array.from({ length: APPS }, () => bytes(round === 0 ? 1024 * KB : 60 * KB));
      for (const [index, stream] of streams.entries())
        stream.send(events[index % APPS] ?? bytes(0));
      most = Math.max(most, memory.bytes());
    }
    // Each event once, and a piece for each reader.
    expect(most).toBe(APPS * (1024 + 60) * KB + APPS * READERS * PIECE);
    expect(most).toBeLessThan(BUDGET);
    expect(streams.filter(({ ended }) => !ended())).toEqual([]);
    expect(memory.bytes()).toBe(0);
  });

  test("hold less than 64 MB in a gateway, where each has its own bytes", async () => {
    const memory = makeStreamMemory();
    const upstreams = new Map<object, ReadableStreamDefaultController<Uint8Array>>();
    const queue = { highWaterMark: 0, size: (chunk?: Uint8Array) => chunk?.byteLength ?? 0 };
    for (let index = 0; index < APPS * READERS; index++) {
      const name = {};
      const upstream = new ReadableStream<Uint8Array>(
        {
          start: (controller) => void upstreams.set(name, controller),
          cancel: () => void upstreams.delete(name),
        },
        queue,
      );
      void pumpEvents(upstream, memory, { signal: NEVER, onEnd: () => undefined })
        .getReader()
        .read();
    }
    let [most, arrived, uncounted] = [0, 0, 0];
    for (let round = 0; round < 20; round++) {
      for (const controller of upstreams.values()) controller.enqueue(bytes(PIECE));
      arrived += upstreams.size * PIECE;
      await Bun.sleep(1);
      most = Math.max(most, memory.bytes());
      for (const { desiredSize } of upstreams.values()) uncounted -= desiredSize ?? 0;
    }
    expect(arrived).toBeGreaterThan(2 * BUDGET);
    expect(most).toBeGreaterThan(BUDGET - PIECE);
    expect(most).toBeLessThanOrEqual(BUDGET + PIECE);
    // No byte waits uncounted behind the readers.
    expect(uncounted).toBe(0);
    // Those that end resume elsewhere in the list: the others go on.
    expect(upstreams.size).toBeGreaterThan(0);
  });
});

test("a reader of a socket that reads nothing takes a limited number of bytes", async () => {
  const memory = makeStreamMemory();
  const opened = Promise.withResolvers<Opened>();
  const server = Bun.serve({
    port: 0,
    fetch: () => {
      const stream = open(memory);
      opened.resolve(stream);
      return new Response(stream.body, { headers: EVENT_STREAM_HEADERS });
    },
  });
  const socket = connect(server.port ?? 0, "127.0.0.1").pause();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const stream = await opened.promise;
  // The operating system buffers some MB for a socket. Then the runtime stops asking for more.
  await eventually(() => {
    stream.send(bytes(1024 * KB));
    return stream.ended();
  });
  expect(memory.bytes()).toBe(0);
  socket.destroy();
  await server.stop(true);
});
