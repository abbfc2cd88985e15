/** The list, which shows a new row before the server has stored it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type Page, request, type Todo } from "./api.ts";
import { Latest } from "./latest.tsx";
import { useRefresh } from "./live.ts";
import { Pages } from "./pages.tsx";

const TODOS = ["todos", "first"];

export function Todos() {
  useRefresh();
  const client = useQueryClient();
  const todos = useQuery({ queryKey: TODOS, queryFn: () => request<Page>("/api/todos") });
  const create = useMutation({
    mutationFn: (title: string) => request<Todo>("/api/todos", { method: "POST", body: { title } }),
    onMutate: async (title) => {
      await client.cancelQueries({ queryKey: TODOS });
      const before = client.getQueryData<Page>(TODOS);
      const row: Todo = { id: "new", title, status: "open" };
      client.setQueryData<Page>(TODOS, { rows: [...(before?.rows ?? []), row] });
      return { before };
    },
    onError: (_error, _title, context) => client.setQueryData(TODOS, context?.before),
    onSettled: () => client.invalidateQueries({ queryKey: ["todos"] }),
  });
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate(String(new FormData(event.currentTarget).get("title")));
        }}
      >
        <input name="title" aria-label="Title" required />
        <button type="submit">Add</button>
      </form>
      {create.error && <p role="alert">{create.error.message}</p>}
      <ul>
        {todos.data?.rows.map((todo) => (
          <li key={todo.id}>{todo.title}</li>
        ))}
      </ul>
      <Pages />
      <Latest />
    </>
  );
}
