import { describe, expect, test } from "bun:test";
import { cases } from "../../test/support/cases.ts";
import { toCallerHeaders, toServiceHeaders } from "./forward_headers.ts";

const OWN = ["accept-encoding"];

function passed(headers: [string, string][], audience: "data" | "identity" = "data"): string[] {
  const names = [...toServiceHeaders(new Headers(headers), audience).keys()];
  return names.filter((name) => !OWN.includes(name)).sort();
}

describe("toServiceHeaders()", () => {
  test.each(cases("name", "headers", "want")`
    forwards headers of the request                          | accept, content-type, origin, user-agent                    | accept, content-type, origin, user-agent
    removes the signed headers                               | Rowhouse-Context, ROWHOUSE-SIGNATURE, rowhouse-anything
    removes the signed headers with underscores in the names | Rowhouse_Context, rowhouse_signature, Rowhouse_Time-stamp
    removes headers of the connection                        | te, upgrade, keep-alive, transfer-encoding, proxy-authorization
    removes headers that Connection lists                    | connection, x-secret, accept, x-other                       | x-other
    removes the caller's forwarding headers                  | x-forwarded-for, X_Forwarded_For, x-forwarded-host, forwarded, x-real-ip
    removes the key and cookies                              | authorization, cookie
  `)("$name", ({ headers, want }) => {
    const values: Record<string, string> = { connection: "close, X-Secret,accept" };
    const sent = headers.split(", ").map((name): [string, string] => [name, values[name] ?? "x"]);
    expect(passed(sent).join(", ")).toBe(want);
  });

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
