/** @jsxImportSource #html @jsxRuntime automatic */
/** The form that sends a request. Shown only if a script can run it. @module */
import type { Html } from "../../pages/mod.ts";
import type { Body, Endpoint, Parameter } from "./endpoints.ts";
import { printJson } from "./sample.ts";

export function renderTryIt({ id, method, path, access, parameters, body }: Endpoint): Html {
  const isKeyed = access === "key" || access === "optional-key";
  return (
    <details class="try" hidden data-try>
      <summary>Try it</summary>
      <form
        method="post"
        data-method={method}
        data-path={path}
        data-needs-key={access === "key"}
        data-sends-key={isKeyed}
      >
        {parameters.map((parameter) => renderInput(id, parameter))}
        {body !== undefined && renderBody(id, printJson(toTried(body), 2))}
        <button class="button button-primary" type="submit">
          Send
        </button>
      </form>
      <div class="try-response" data-response />
    </details>
  );
}

/** A tried push is a dry run unless the user changes it. */
function toTried({ sample, fields }: Body): unknown {
  const hasDryRun = fields.some(({ name }) => name === "dryRun");
  return hasDryRun ? { ...Object(sample), dryRun: true } : sample;
}

function renderBody(id: string, text: string): Html {
  return (
    <div class="try-field">
      <label for={`${id}-body`}>Body</label>
      <textarea
        id={`${id}-body`}
        data-in="body"
        rows={text.split("\n").length}
        spellcheck="false"
        autocapitalize="none"
        autocomplete="off"
      >
        {text}
      </textarea>
    </div>
  );
}

function renderInput(id: string, parameter: Parameter): Html {
  const field = `${id}-${parameter.in}-${parameter.name}`;
  return (
    <div class="try-field">
      <label for={field}>
        {parameter.name}{" "}
        <span class="field-type">{parameter.isRequired ? "required" : parameter.in}</span>
      </label>
      <input
        type="text"
        id={field}
        data-in={parameter.in}
        data-name={parameter.name}
        required={parameter.isRequired}
        spellcheck="false"
        autocapitalize="none"
        autocomplete="off"
      />
    </div>
  );
}
