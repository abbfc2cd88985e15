/** Fields whose content is sent in an address never contain the secret of a key: only its id remains of a pasted key. @module */
import { withoutKeySecrets } from "../../std/key_secret.ts";
import { announce } from "./dom.ts";

const SENT_IN_ADDRESS = 'form[method="get"] input, input[type="search"], input[role="combobox"]';

/** A key that is being typed: its secret follows. */
const TYPED = /(?:^|[=\s"'])[A-Za-z0-9-]{1,16}_([a-z0-9]{16})\s*\.$/;
const ID = /^[a-z0-9]{16}$/;
/** The ids of keys whose secrets are being typed, also after a part of the key was pasted. */
const ids = new WeakMap<HTMLInputElement, string>();

/** Captures each input before the listeners of the field, which send its text. */
export function startKeySecrets(): void {
  document.addEventListener("input", ({ target }) => removeSecrets(target), { capture: true });
  // A field that was restored or filled in without an input event.
  document.addEventListener(
    "submit",
    ({ target }) => {
      if (target instanceof HTMLFormElement && target.method === "get")
        for (const field of target.elements) removeSecrets(field);
    },
    { capture: true },
  );
}

function removeSecrets(field: EventTarget | null): void {
  if (!(field instanceof HTMLInputElement) || !field.matches(SENT_IN_ADDRESS)) return;
  const typed = TYPED.exec(field.value)?.[1];
  const id = ids.get(field);
  const isContinued = id !== undefined && field.value.startsWith(id);
  const safe = typed ?? (isContinued ? id : withoutKeySecrets(field.value));
  if (id !== undefined && !isContinued && typed === undefined) ids.delete(field);
  if (safe === field.value) return;
  if (ID.test(safe)) ids.set(field, safe);
  field.value = safe;
  announce("Secret removed");
}
