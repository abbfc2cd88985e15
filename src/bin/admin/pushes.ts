/** `rowhouse admin list-pushes`: lists the pushes of an app. @module */
import { pushList } from "../../accounts/console/mod.ts";
import { makeListCommand } from "./list_command.ts";
import { makeAdminCommands } from "./task.ts";

export const adminPushCommands = makeAdminCommands({
  "list-pushes": makeListCommand(pushList, {
    example: "rowhouse admin list-pushes wiki --json",
    about: "The key is null if an operator pushed.",
    limit: 50,
    lines: {
      key: ({ key }) => (key === null ? "by an operator" : `by key ${key.keyId}  ${key.name}`),
    },
    none: (slug) => `App ${slug} has no pushes yet`,
  }),
});
