/** The list of todos. The page shows a change only after the server has stored it. @module */
import { createTodo, deleteTodo, followTodos, listTodos, setStatus, type Todo } from "./api.ts";
import { element } from "./element.ts";
import type { View } from "./view.ts";

/** Shows the list in `place` and keeps it in sync with the server. */
export async function showTodos(position: HTMLElement): Promise<void> {
  const list = element("ul", { class: "todos", "aria-label": "Todos" });
  const notice = element("p", { class: "notice", role: "alert", hidden: true });
  const title = element("input", {
    id: "title",
    name: "title",
    required: true,
    maxlength: "200",
    autocomplete: "off",
    placeholder: "What needs to be done?",
  });
  let view: View = { search: "", isOpenOnly: false, isByDueDate: false };
  const refresh = async () => {
    const asked = view;
    const todos = await listTodos(asked);
    // The view has changed since the request.
    if (asked !== view) return;
    // Not before the request: the person can have moved the focus meanwhile.
    const focused = document.activeElement?.id;
    const isFiltered = asked.search !== "" || asked.isOpenOnly;
    showRows(list, todos, { runChange, isFiltered });
    // The rows were replaced: restore the focus, or focus the title.
    (document.getElementById(focused || title.id) ?? title).focus();
  };
  const runChange = (change: () => Promise<unknown>) => perform(notice, change, refresh);
  const form = element(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        void runChange(async () => {
          await createTodo(title.value);
          title.value = "";
        });
      },
    },
    element("label", { for: "title" }, "New todo"),
    element("div", { class: "line" }, title, element("button", { class: "main" }, "Add")),
  );
  const change = (part: Partial<View>) => {
    view = { ...view, ...part };
    void runChange(async () => undefined);
  };
  position.replaceChildren(form, makeControls(change), notice, list);
  await refresh();
  followTodos(() => void runChange(async () => undefined));
}

/** The search box and two checkboxes. */
function makeControls(change: (part: Partial<View>) => void): HTMLElement {
  const search = element("input", {
    id: "search",
    type: "search",
    placeholder: "Search",
    "aria-label": "Search todos",
    oninput: () => change({ search: search.value }),
  });
  return element(
    "div",
    { class: "line controls", role: "search" },
    search,
    makeChoice("open-only", "Open only", (isOpenOnly) => change({ isOpenOnly })),
    makeChoice("by-due-date", "By due date", (isByDueDate) => change({ isByDueDate })),
  );
}

function makeChoice(id: string, text: string, choose: (isChosen: boolean) => void): HTMLElement {
  const box = element("input", { type: "checkbox", id, onchange: () => choose(box.checked) });
  return element("label", { class: "choice" }, box, text);
}

type RunChange = (change: () => Promise<unknown>) => Promise<void>;

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
    notice.textContent = error instanceof Error ? error.message : "The change failed";
    notice.hidden = false;
  }
}

function showRows(
  list: HTMLElement,
  todos: readonly Todo[],
  { runChange, isFiltered }: { runChange: RunChange; isFiltered: boolean },
): void {
  const rows = todos.map((todo) => showRow(todo, runChange));
  const text = isFiltered ? "No matching todos." : "No todos. Add one above.";
  const nothing = element("li", { class: "quiet" }, text);
  list.replaceChildren(...(rows.length === 0 ? [nothing] : rows));
}

function showRow(todo: Todo, runChange: RunChange): HTMLElement {
  const isDone = todo.status === "done";
  const id = `todo-${todo.id}`;
  return element(
    "li",
    {},
    element("input", {
      type: "checkbox",
      id,
      checked: isDone,
      onchange: () => void runChange(() => setStatus(todo, isDone ? "open" : "done")),
    }),
    element("label", { for: id, ...(isDone ? { class: "done" } : {}) }, todo.title),
    element(
      "button",
      {
        type: "button",
        id: `delete-${todo.id}`,
        class: "delete",
        "aria-label": `Delete ${todo.title}`,
        onclick: () => void runChange(() => deleteTodo(todo)),
      },
      "Delete",
    ),
  );
}
