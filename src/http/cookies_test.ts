/** Attributes of persistent cookies, and the requirements of their name prefixes. @module */
import { expect, test } from "bun:test";
import { toSetCookie } from "./mod.ts";

test("toSetCookie() sends a cookie on links from other sites, and only over HTTPS", () => {
  const want = "__Host-a=1; Path=/; HttpOnly; Secure; SameSite=Lax";
  expect(toSetCookie("__Host-a", "1", { path: "/" })).toBe(want);
});

test.each([
  { name: "a domain", options: { path: "/", domain: "example.org" } },
  { name: "another path", options: { path: "/account" } },
])("toSetCookie() rejects the __Host- prefix with $name", ({ options }) => {
  expect(() => toSetCookie("__Host-a", "1", options)).toThrow("must have the path / and no domain");
  expect(toSetCookie("__Secure-a", "1", options)).toContain("Secure");
});
