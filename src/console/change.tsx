/** @jsxImportSource #html @jsxRuntime automatic */
/** A change as a sentence with time, actor, action and a link to its page. @module */
import type { Change } from "../accounts/console/mod.ts";
import { labelAction } from "../db/mod.ts";
import type { Html, Part } from "../pages/mod.ts";
import { isObject } from "../std/is_object.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import { renderAddress, renderText, renderTime } from "./parts.tsx";
import { ACTIVITY, toAppPath, toPushPath } from "./paths.ts";

export function renderChange(
  change: Change,
  { hasApp, now }: { hasApp: boolean; now: number },
): Html {
  const { at, app } = change;
  return (
    <>
      {renderTime(at, now)}{" "}
      <span>
        {renderWhat(change)}
        {hasApp && app !== null && [" on ", <a href={toAppPath(app)}>{app}</a>]}
      </span>
    </>
  );
}

function renderWhat(change: Change): Part {
  const { action, app, seq, keyId, details } = change;
  if (action === "push" && app !== null && seq !== null)
    return (
      <>
        <a href={toPushPath(app, seq)}>push {toPushNumber(seq)}</a>{" "}
        {renderText(details.replaceAll("_", " "))}, by{" "}
        {keyId === null ? (
          "an operator"
        ) : (
          <>
            key <code>{keyId}</code>
          </>
        )}
      </>
    );
  if (action === "expire_key")
    return (
      <>
        key <code>{keyId ?? ""}</code> {details !== "" && renderText(details)} expired
      </>
    );
  const query = new URLSearchParams({ ...(app === null ? {} : { app }), action });
  return (
    <>
      {renderActor(change)} <a href={`${ACTIVITY}?${query.toString()}`}>{labelAction(action)}</a>
      {renderObject(change)}
    </>
  );
}

export function toPushNumber(seq: number): string {
  return String(seq).padStart(4, "0");
}

function renderActor({ actor, actorEmail }: Change): Html {
  return actorEmail === null ? renderText(actor) : renderAddress(actorEmail);
}

/** The key, person or role of the change. */
function renderObject({ details, email }: Change): Part {
  const parsed = tryParseJson(details);
  const { keyId, role } = isObject(parsed) ? parsed : {};
  return [
    typeof keyId === "string" && (
      <>
        {" "}
        <code>{keyId.slice(0, 16)}</code>
      </>
    ),
    typeof role === "string" && <> {renderText(role)}</>,
    email !== null && <> ({renderAddress(email)})</>,
  ];
}
