/** The app's own server part, from the browser: same origin, with the session cookie; never sees the API key. @module */
import type { Row } from "rowhouse/schema";
import type schema from "../../../schema/mod.ts";

export type Todo = Row<typeof schema, "todos">;

/** The server part refused, with its sentence for the person. */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

export async function listTodos(): Promise<Todo[]> {
  return (await send("GET", "/api/todos")) as Todo[];
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
  const answer: unknown = await response.json();
  if (response.ok) return answer;
  throw new ApiError(response.status, readMessage(answer));
}

function readMessage(answer: unknown): string {
  const message = typeof answer === "object" && answer !== null && "message" in answer;
  return message ? String(answer.message) : "The server did not say why";
}
