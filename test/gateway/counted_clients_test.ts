/** The identity of a client in limits for guesses: failed keys at the gateway, and sign-ins in the database. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { FAILURES_PER_MINUTE } from "../../src/gateway/authenticate.ts";
import { SIGN_IN_LIMITS } from "../../src/records/sessions/mod.ts";
import { submitSignIn, type VisitedService } from "../support/people.ts";
import { openTestService, type TestService } from "../support/service.ts";

/** All notations of a client's address, and a similar address of another client. */
const CLIENTS = [
  {
    name: "an IPv4 address",
    guesser: ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:192.0.2.1", "::ffff:c000:201"],
    another: ["192.0.2.2", "::ffff:192.0.2.2", "::ffff:c000:202"],
  },
  {
    name: "a mapped IPv4 address",
    guesser: ["0:0:0:0:0:ffff:c633:6401", "0000::ffff:198.51.100.1", "198.51.100.1"],
    another: ["0:0:0:0:0:ffff:c633:6402", "0000::ffff:198.51.100.2", "::c633:6401"],
  },
  {
    name: "an IPv6 network",
    guesser: ["2001:db8:1:2::7", "2001:0DB8:1:2:ffff::8", "2001:db8:1:2:0:ffff:192.0.2.3"],
    another: ["2001:db8:1:3::7", "2001:db8:0:1:2::7"],
  },
];

describe.each(CLIENTS)(
  "$name counts as one client in every notation and",
  ({ guesser, another }) => {
    let service: TestService;
    beforeAll(async () => {
      service = await openTestService({ service: { trustedProxies: ["127.0.0.1"] } });
    });
    afterAll(() => service.close());

    test("gets 429 after too many wrong keys", async () => {
      const guess = async (address: string) => {
        const headers = { "x-forwarded-for": address };
        const path = "/v1/data/db/todos";
        return (await service.call(undefined, path, { key: "rh_guess", headers })).status;
      };
      const guesses = Array.from({ length: FAILURES_PER_MINUTE + 50 }, (_, index) =>
        guess(guesser[index % guesser.length] ?? ""),
      );
      expect(new Set(await Promise.all(guesses))).toEqual(new Set([401, 429]));
      for (const address of another)
        expect([address, await guess(address)]).toEqual([address, 401]);
    });

    test("gets 429 after too many failed sign-ins", async () => {
      const email = `nobody-${crypto.randomUUID()}@example.org`;
      const tryWrong = async (address: string) => {
        const from = { email, password: "not the password" };
        return (await submitSignIn(comingFrom(service, address), new Map(), from)).status;
      };
      for (let count = 0; count < SIGN_IN_LIMITS.pair; count++)
        expect(await tryWrong(guesser[count % guesser.length] ?? "")).toBe(422);
      for (const address of guesser)
        expect([address, await tryWrong(address)]).toEqual([address, 429]);
      for (const address of another)
        expect([address, await tryWrong(address)]).toEqual([address, 422]);
    });
  },
);

/** Returns the service as a client with this address reaches it through a trusted proxy. */
function comingFrom({ url, call }: TestService, address: string): VisitedService {
  return {
    url,
    call: (app, path, options) =>
      call(app, path, { ...options, headers: { ...options?.headers, "x-forwarded-for": address } }),
  };
}
