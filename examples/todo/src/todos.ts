/** The list: shown, added to, ticked off, cleared. Every change is the server's before it is the page's. @module */
import { createTodo, deleteTodo, listTodos, setStatus, type Todo } from "./api.ts";
import { element } from "./element.ts";

/** Shows the list in `place` and keeps it as the server has it. */
export async function showTodos(place: HTMLElement): Promise<void> {
  const list = element("ul", { class: "todos", "aria-label": "Todos" });
  const notice = element("p", { class: "notice", role: "alert", hidden: true });
  const title = element("input", {
    id: "title",
    name: "title",
    required: true,
    maxlength: "200",
    autocomplete: "off",
    placeholder: "What is to be done?",
  });
  const refresh = async () => {
    const focused = document.activeElement?.id;
    showRows(list, await listTodos(), act);
    // Rows are made anew: the focus returns to where it was, or to the next thing to type.
    (document.getElementById(focused || title.id) ?? title).focus();
  };
  const act = (change: () => Promise<unknown>) => perform(notice, change, refresh);
  const form = element(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        void act(async () => {
          await createTodo(title.value);
          title.value = "";
        });
      },
    },
    element("label", { for: "title" }, "New todo"),
    element("div", { class: "line" }, title, element("button", { class: "main" }, "Add")),
  );
  place.replaceChildren(form, notice, list);
  await refresh();
}

type Act = (change: () => Promise<unknown>) => Promise<void>;

async function perform(
  notice: HTMLElement,
  change: () => Promise<unknown>,
  refresh: () => Promise<void>,
): Promise<void> {
  notice.hidden = true;
  try {
    await change();
    await refresh();
  } catch (error) {
    notice.textContent = error instanceof Error ? error.message : "That did not work";
    notice.hidden = false;
  }
}

function showRows(list: HTMLElement, todos: readonly Todo[], act: Act): void {
  const rows = todos.map((todo) => showRow(todo, act));
  const nothing = element("li", { class: "quiet" }, "Nothing to do. Add the first one above.");
  list.replaceChildren(...(rows.length === 0 ? [nothing] : rows));
}

function showRow(todo: Todo, act: Act): HTMLElement {
  const isDone = todo.status === "done";
  const id = `todo-${todo.id}`;
  return element(
    "li",
    {},
    element("input", {
      type: "checkbox",
      id,
      checked: isDone,
      onchange: () => void act(() => setStatus(todo, isDone ? "open" : "done")),
    }),
    element("label", { for: id, ...(isDone ? { class: "done" } : {}) }, todo.title),
    element(
      "button",
      {
        type: "button",
        id: `delete-${todo.id}`,
        class: "delete",
        "aria-label": `Delete ${todo.title}`,
        onclick: () => void act(() => deleteTodo(todo)),
      },
      "Delete",
    ),
  );
}
