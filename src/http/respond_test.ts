/** Bodies of responses have the same bytes for any size. A large body uses a format that the server sends in few packets. */
import { expect, test } from "bun:test";
import { toBody } from "./mod.ts";

test.each([
  { bytes: 0, isStream: false },
  { bytes: 15_360, isStream: false },
  { bytes: 15_361, isStream: true },
  { bytes: 3_000_000, isStream: true },
])("toBody() of $bytes bytes is a stream: $isStream", async ({ bytes, isStream }) => {
  const pattern = crypto.getRandomValues(new Uint8Array(Math.min(bytes, 65_536)));
  const expected = new Uint8Array(bytes).map((_, index) => pattern[index % pattern.length] ?? 0);
  const body = toBody(expected);
  expect(body instanceof ReadableStream).toBe(isStream);
  expect(Buffer.compare(await new Response(body).bytes(), expected)).toBe(0);
});
