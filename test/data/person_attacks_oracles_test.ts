/** What a person learns from errors about rows that the person does not see: values of unique constraints, and references to own rows. */
import { expect, test } from "bun:test";
import { isSame, openPersonWorld, path, rowOf, rowsOf } from "../support/person_app.ts";
import { share } from "../support/share.ts";

const T = path("todos");
const SECRET = String.raw`ends with \ and 100%`;
const world = await share(openPersonWorld());
const { ada, bob, wiki, post } = world;
const project = rowOf(await post(ada, "projects", { name: "Ada's" }));
// Only the server connects a todo of one person with a project of another.
const made = { title: SECRET, owner: bob.id, project: project.id, tag: "taken" };
expect((await post(wiki, "todos", made)).status).toBe(201);

test("a delete of a row that an unseen row references says so, and not which", async () => {
  const { ada, remove } = world;
  for (const target of [`/${project.id}`, `?id=eq.${project.id}`]) {
    const { status, text } = await remove(ada, path("projects", target));
    expect(status).toBe(409);
    expect(text).toContain("still_referenced");
    expect(text).not.toContain("todos");
  }
});

test("the value of a unique constraint is in use, with the same error for every row", async () => {
  const { ada, post } = world;
  for (const query of ["", "?onConflict=tag", "?onConflict=tag&existing=ignore"]) {
    const { status, text } = await post(ada, `todos${query}`, { title: "x", tag: "taken" });
    expect(status).toBe(409);
    for (const secret of [SECRET, project.id, world.bob.id]) expect(text).not.toContain(secret);
  }
  // An update of rows that exist answers as if there were none.
  const [unseen, missing] = await Promise.all(
    ["taken", "never used"].map((tag) =>
      post(ada, "todos?onConflict=tag&existing=only", [{ title: "x", tag }, { tag: `${tag} too` }]),
    ),
  );
  expect(unseen).toMatchObject({
    status: 200,
    json: { rows: [], results: ["missing", "missing"] },
  });
  expect(unseen?.text).toBe(missing?.text ?? "");
});

test("no pattern has an error of its own for unseen rows", async () => {
  const { ada, lena, send } = world;
  for (const pattern of ["like.ends with \\", "like.*\\", "ilike.*\\", "like.*100%", "ilike.*(["]) {
    const query = `${T}?title=${encodeURIComponent(pattern)}`;
    const [unseen, missing] = [
      await send(ada, query),
      await send(ada, `${query}&title=eq.nothing`),
    ];
    expect({ pattern, status: unseen.status, text: unseen.text }).toMatchObject({ status: 200 });
    expect(isSame(unseen, missing)).toBe(true);
  }
  const found = await send(lena, `${T}?title=${encodeURIComponent("like.*\\ and*")}`);
  expect(rowsOf(found)).toMatchObject([{ title: SECRET }]);
});
