/** Calls the app's own server from the browser, with the session cookie and without the API key. @module */
import { arrange, type Todo, type View } from "./view.ts";

export type { Todo } from "./view.ts";

/** An error response of the server, with a message for the person. */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

export async function listTodos(view: View): Promise<Todo[]> {
  const { search, isOpenOnly, isByDueDate } = view;
  const query = new URLSearchParams({
    ...(search === "" ? {} : { search }),
    ...(isOpenOnly ? { open: "1" } : {}),
    ...(isByDueDate ? { due: "1" } : {}),
  });
  return arrange((await send("GET", `/api/todos?${query}`)) as Todo[], view);
}

/** Calls back when the list has changed, also by another user. */
export function followTodos(onChange: () => void): void {
  new EventSource("/api/todos/live").onmessage = onChange;
}

export async function createTodo(title: string): Promise<Todo> {
  return (await send("POST", "/api/todos", { title })) as Todo;
}

export async function setStatus(todo: Todo, status: Todo["status"]): Promise<Todo> {
  return (await send("PATCH", `/api/todos/${todo.id}`, { status })) as Todo;
}

export async function deleteTodo(todo: Todo): Promise<void> {
  await send("DELETE", `/api/todos/${todo.id}`);
}

async function send(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(path, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  if (response.status === 204) return undefined;
  const json: unknown = await response.json();
  if (response.ok) return json;
  throw new ApiError(response.status, readMessage(json));
}

function readMessage(json: unknown): string {
  const message = typeof json === "object" && json !== null && "message" in json;
  return message ? String(json.message) : "Unknown error";
}
