/** The page: asks who is here, then shows the list, a way in, or why there is none. @module */
import { createIdentityClient, type IdentityUser } from "rowhouse/identity";
import { element } from "./element.ts";
import { APP, IDENTITY_URL, SERVICE_URL } from "./settings.ts";
import { showTodos } from "./todos.ts";

const identity = createIdentityClient({ url: SERVICE_URL, identityUrl: IDENTITY_URL, app: APP });
const main = find("main");
const person = find("person");

try {
  await show();
} catch {
  // Neither signed in nor signed out is known: saying so is all there is, and the person may try again.
  showWithButton(
    [element("p", { class: "notice" }, "The service does not answer right now.")],
    makeRetry(),
  );
}

async function show(): Promise<void> {
  if (location.pathname !== "/") return showMissing();
  const session = await identity.getSession();
  if (session.status === "unauthenticated") return showDoor();
  showPerson(session.user);
  if (session.status === "forbidden") return showRefusal();
  await showTodos(main);
}

function showDoor(): void {
  showWithButton(
    [element("p", {}, "Sign in to see your list.")],
    element(
      "button",
      { type: "button", class: "main", onclick: () => identity.login() },
      "Sign in",
    ),
  );
}

function showRefusal(): void {
  const says = "You are signed in, but nobody has given you a role on this app yet.";
  const todo = "Ask an administrator; then try again.";
  showWithButton(
    [element("p", { class: "notice" }, says), element("p", { class: "quiet" }, todo)],
    makeRetry(),
  );
}

function showMissing(): void {
  main.replaceChildren(
    element("p", {}, "There is no page at this address."),
    element("p", {}, element("a", { href: "/" }, "To your list")),
  );
}

function makeRetry(): HTMLButtonElement {
  return element("button", { type: "button", onclick: () => location.reload() }, "Try again");
}

/** The button has the focus: it is the one thing to do here. */
function showWithButton(texts: readonly HTMLElement[], button: HTMLButtonElement): void {
  main.replaceChildren(...texts, button);
  button.focus();
}

function showPerson(user: IdentityUser): void {
  person.replaceChildren(
    element("span", {}, user.displayName ?? user.email),
    element("button", { type: "button", onclick: () => void identity.logout() }, "Sign out"),
  );
}

function find(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no element "${id}"`);
  return found;
}
