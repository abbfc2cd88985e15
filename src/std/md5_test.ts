/** MD5 in browsers is the one of PostgreSQL and Bun, at every length around a block. */
import { expect, test } from "bun:test";
import { md5 } from "./md5.ts";

test("is the MD5 of RFC 1321", () => {
  expect(md5("")).toBe("d41d8cd98f00b204e9800998ecf8427e");
  expect(md5("message digest")).toBe("f96b697d7cb7938d525a2f31aaf161d0");
});

test("is the MD5 of Bun for texts of 0 to 200 characters, of each width", () => {
  for (const character of ["a", "é", "字", "😀", "\n"])
    for (let length = 0; length <= 200; length++) {
      const text = character.repeat(length) + length;
      expect([text, md5(text)]).toEqual([text, Bun.CryptoHasher.hash("md5", text, "hex")]);
    }
});
