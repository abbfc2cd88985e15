import { describe, expect, test } from "bun:test";
import { toCallerHeaders, toServiceHeaders } from "./forward_headers.ts";

const OWN = ["accept-encoding"];

function passed(headers: [string, string][], audience: "data" | "identity" = "data"): string[] {
  const names = [...toServiceHeaders(new Headers(headers), audience).keys()];
  return names.filter((name) => !OWN.includes(name)).sort();
}

describe("toServiceHeaders()", () => {
  test.each([
    {
      name: "forwards headers of the request",
      headers: [
        ["accept", "a"],
        ["content-type", "b"],
        ["origin", "c"],
        ["user-agent", "d"],
      ],
      want: ["accept", "content-type", "origin", "user-agent"],
    },
    {
      name: "removes the signed headers",
      headers: [
        ["Rowhouse-Context", "x"],
        ["ROWHOUSE-SIGNATURE", "x"],
        ["rowhouse-anything", "x"],
      ],
      want: [],
    },
    {
      name: "removes the signed headers with underscores in their names",
      headers: [
        ["Rowhouse_Context", "x"],
        ["rowhouse_signature", "x"],
        ["Rowhouse_Time-stamp", "x"],
      ],
      want: [],
    },
    {
      name: "removes headers of the connection",
      headers: [
        ["te", "x"],
        ["upgrade", "x"],
        ["keep-alive", "x"],
        ["transfer-encoding", "chunked"],
        ["proxy-authorization", "x"],
      ],
      want: [],
    },
    {
      name: "removes headers that Connection lists",
      headers: [
        ["connection", "close, X-Secret,accept"],
        ["x-secret", "x"],
        ["accept", "x"],
        ["x-other", "x"],
      ],
      want: ["x-other"],
    },
    {
      name: "removes the caller's forwarding headers",
      headers: [
        ["x-forwarded-for", "x"],
        ["X_Forwarded_For", "x"],
        ["x-forwarded-host", "x"],
        ["forwarded", "x"],
        ["x-real-ip", "x"],
      ],
      want: [],
    },
    {
      name: "removes the key and cookies",
      headers: [
        ["authorization", "x"],
        ["cookie", "x"],
      ],
      want: [],
    },
  ] as { name: string; headers: [string, string][]; want: string[] }[])(
    "$name",
    ({ headers, want }) => {
      expect(passed(headers)).toEqual(want);
    },
  );

  test("forwards cookies to the identity service, but no keys", () => {
    expect(
      passed(
        [
          ["authorization", "x"],
          ["cookie", "x"],
        ],
        "identity",
      ),
    ).toEqual(["cookie"]);
  });
});

test("toCallerHeaders() keeps every cookie and drops headers of the connection", () => {
  const headers = new Headers([
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
    ["connection", "keep-alive, x-inner"],
    ["x-inner", "x"],
    ["transfer-encoding", "chunked"],
    ["date", "x"],
    ["content-type", "text/html"],
  ]);
  const caller = toCallerHeaders(headers);
  expect(caller.getSetCookie()).toEqual(["a=1", "b=2"]);
  expect([...caller.keys()].sort()).toEqual(["content-type", "set-cookie", "set-cookie"]);
});
