/** The differences between a released version and this tree that users find in the changelog. @module */
import type { Difference } from "./replay.ts";

export type Accepted = {
  /** Words of the changelog's line. */
  why: string;
  explains: (difference: Difference) => boolean;
};

/** Whether the request is of one of these paths, and both programs answered it with the same status. */
const onPages =
  (pattern: RegExp) =>
  ({ request, theirs, ours }: Difference): boolean =>
    pattern.test(request.path) && theirs.status === ours.status;

/** Whether our body has a text that theirs lacks. */
const adds =
  (text: string) =>
  ({ theirs, ours }: Difference): boolean =>
    ours.body.includes(text) && !theirs.body.includes(text);

export const ACCEPTED: readonly Accepted[] = [
  {
    why: "A push that widens rules [needs the scope `schema:rules`]",
    explains: (difference) =>
      onPages(/^\/(v1\/openapi\.json|docs|console)/)(difference) &&
      (difference.request.method === "HEAD" ||
        adds("schema:rules")(difference) ||
        adds("widen_rules")(difference)),
  },
  {
    why: "The last sign-in of a person is stored.",
    explains: (difference) =>
      onPages(/\/people\.csv$/)(difference) && adds("last_sign_in_at")(difference),
  },
  {
    // Whose keys end with a person's access is no longer read from the audit log.
    why: "The last sign-in of a person is stored. People who signed out",
    explains: (difference) =>
      onPages(/^\/console\/people\/[^/]+\/(state|delete|end-access)$/)(difference) &&
      (adds('/end-access">those that this person issued')(difference) ||
        adds("This person has issued no key that is active")(difference)),
  },
  {
    why: "No write is lost while the same `retype` runs twice at once.",
    explains: (difference) =>
      onPages(/^\/v1\/data\/schema$/)(difference) && adds("rowhouse.copied")(difference),
  },
  {
    why: "`rowhouse migrate` without `PREVIEW` no longer ends previews.",
    explains: onPages(/^\/console\/tables\/pages$/),
  },
  {
    why: "A setting that is on can be turned off without its preview.",
    explains: onPages(/^\/console\/apps\/wiki\/settings$/),
  },
  {
    why: "The history of rows has rows that `onDelete` deleted or changed with another row",
    explains: onPages(/^\/console\/apps\/wiki\/tables\/pages\/(rows\/[^/]+\/)?history$/),
  },
  {
    why: "`existing=only` updates the rows of a list that exist, and creates none.",
    explains: (difference) =>
      onPages(/^\/docs\/tables\/pages$/)(difference) &&
      adds(" updates rows that exist, an")(difference),
  },
  {
    // The menu of the reference lists the guides.
    why: "Former addresses below `/docs` lead to the new ones.",
    explains: (difference) =>
      onPages(/^\/docs(\/tables\/\w+)?$/)(difference) &&
      adds('href="/docs/coming_from"')(difference),
  },
  {
    // Its pages start no worker, so that their policy allows none.
    why: "The Console searches, filters and sorts rows with conditions whatever `PREVIEW` is",
    explains: (difference) =>
      onPages(/^\/console\/apps\/wiki\/(data|tables)\/pages(\/|$)/)(difference) &&
      ["/assets/rows_page", "/assets/row_page", "/assets/import_page", '"next":null'].some((text) =>
        adds(text)(difference),
      ),
  },
  {
    why: "The Console has a line for each import of a file, with its rows.",
    explains: onPages(/^\/console\/apps\/wiki\/(data|tables)\/pages\/import(s|$)/),
  },
  {
    why: "The palette finds *Sign out*",
    explains: (difference) =>
      onPages(/^\/console\/find(\?|$)/)(difference) && adds(">Sign out</bdi>")(difference),
  },
  {
    why: "*Revoke* is in a menu; other buttons that end something",
    explains: (difference) =>
      onPages(/^\/console\//)(difference) && adds('popovertarget="menu:')(difference),
  },
  {
    why: "The page of a row in the Console has the text of the row as its title",
    explains: onPages(/^\/console\/apps\/wiki\/tables\/pages\/rows\/[^/]+\/delete$/),
  },
  {
    why: "A path of the Console without a page is denied to people without a Console role",
    explains: ({ request }) => request.path === "/console/*",
  },
  {
    why: "The form that grants roles on several apps takes a role for each app.",
    explains: ({ request }) =>
      /^\/console\/(people\/[^/]+\/new-role|new-person|apps\/wiki\/(add-person|people\/[^/]+))$/.test(
        request.path,
      ),
  },
  {
    why: "The Console has a line for each import of a file, with its rows.",
    explains: ({ request }) =>
      /\/pages\/imports(\/|$)|^\/console\/activity\.csv$/.test(request.path),
  },
  {
    why: "write the text for the schema file to copy.",
    explains: ({ request }) => /\/new-(table|column)$/.test(request.path),
  },
  {
    why: "columns of JSON have the operator `ilike`",
    explains: ({ request }) => /[?&]of_json=/.test(request.path),
  },
  {
    why: "the pages of actions isolate every value",
    explains: onPages(
      /^\/console\/(tables\/pages\/transfer|people\/[^/]+\/console-role|apps\/\w+\/people\/[^/]+\/revoke)$/,
    ),
  },
];
