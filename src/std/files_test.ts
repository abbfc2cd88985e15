import { expect, spyOn, test } from "bun:test";
import { isLeftover } from "./files.ts";

test.each([
  { name: "true if the process does not exist", code: "ESRCH", leftover: true },
  { name: "false if another user runs the process", code: "EPERM", leftover: false },
])("isLeftover() returns $name", ({ code, leftover }) => {
  using kill = spyOn(process, "kill");
  kill.mockImplementation(() => {
    throw Object.assign(new Error(code), { code });
  });
  expect(isLeftover(".rows.json.1.tmp")).toBe(leftover);
});
