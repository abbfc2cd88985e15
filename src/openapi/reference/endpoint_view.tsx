/** @jsxImportSource #html @jsxRuntime automatic */
/** One endpoint on a page: its request and response, an example, and a form that sends a request if scripts run. @module */
import { type Html, highlight, renderCopyButton } from "../../pages/mod.ts";
import { REFERENCE_PATH } from "../frame.tsx";
import type { Body, Endpoint, Field, Parameter } from "./endpoints.ts";
import { renderJson, renderProse } from "./prose.tsx";
import { printCurl, printJson, printPython, printTypeScript, WRITTEN_EXAMPLES } from "./sample.ts";
import { renderTryIt } from "./try_view.tsx";

const ACCESS: Readonly<Record<Endpoint["access"], string>> = {
  key: "API key",
  "optional-key": "API key, optional",
  session: "Session cookie",
  "optional-session": "Session cookie, optional",
  open: "Public",
};

export function renderEndpoint(endpoint: Endpoint): Html {
  const { id, method, path, summary, about, access, scope, isDeprecated } = endpoint;
  return (
    <section class="endpoint" id={id} aria-labelledby={`${id}-name`}>
      <div class="endpoint-text">
        <h3 id={`${id}-name`}>
          <a class="anchor" href={`#${id}`}>
            {renderProse(summary)}
          </a>
        </h3>
        <p class="endpoint-line">
          <span class={`method method-${method.toLowerCase()}`}>{method}</span>{" "}
          <code>{renderPath(path)}</code>
        </p>
        <p class="endpoint-tags">
          <span class="pill">{ACCESS[access]}</span>
          {scope !== undefined && [
            " ",
            <span class="pill">
              <code>{scope}</code>
            </span>,
          ]}
          {isDeprecated && [" ", <span class="pill pill-warn">Deprecated</span>]}
        </p>
        {about !== "" && <p>{renderProse(about)}</p>}
        {renderParameters(endpoint.parameters)}
        {endpoint.body !== undefined && renderBody(endpoint.body)}
        {renderResponses(endpoint)}
      </div>
      <div class="endpoint-code">
        {renderRequest(endpoint)}
        {access !== "session" && !endpoint.isStream && renderTryIt(endpoint)}
        {renderSample(endpoint)}
      </div>
    </section>
  );
}

/** Allows line breaks after each segment of a long path. */
function renderPath(path: string): Html {
  return (
    <>
      {path
        .split("/")
        .slice(1)
        .map((segment) => (
          <>
            <wbr />/{segment}
          </>
        ))}
    </>
  );
}

function renderParameters(parameters: readonly Parameter[]): Html | undefined {
  if (parameters.length === 0) return undefined;
  return (
    <>
      <h4>Parameters</h4>
      <ul class="fields">{parameters.map((parameter) => renderField(parameter, parameter.in))}</ul>
    </>
  );
}

function renderBody({ fields, maxItems }: Body): Html {
  return (
    <>
      <h4>Body</h4>
      {maxItems !== undefined && (
        <p class="quiet">One object, or a list of 1 to {maxItems.toLocaleString("en")}.</p>
      )}
      <ul class="fields">{fields.map((field) => renderField(field))}</ul>
      {fields.length === 0 && <p class="quiet">The columns of the table.</p>}
    </>
  );
}

/** Above this number, the values are collapsed. */
const VISIBLE_VALUES = 8;

function renderField(field: Field, where?: string): Html {
  const { values } = field;
  return (
    <li>
      <p class="field-line">
        <code class="field-name">{field.name}</code> <span class="field-type">{field.type}</span>
        {where !== undefined && [" ", <span class="field-type">in {where}</span>]}
        {field.isRequired && [" ", <span class="field-required">required</span>]}
        {field.isDeprecated && [" ", <span class="pill pill-warn">Deprecated</span>]}
      </p>
      {field.about !== "" && <p>{renderProse(field.about)}</p>}
      {values.length > 0 && (
        <p class="values">{values.slice(0, VISIBLE_VALUES).map(renderValue)}</p>
      )}
      {values.length > VISIBLE_VALUES && (
        <details>
          <summary>{values.length - VISIBLE_VALUES} more values</summary>
          <p class="values">{values.slice(VISIBLE_VALUES).map(renderValue)}</p>
        </details>
      )}
      {field.default !== undefined && <p>Default {renderValue(field.default)}</p>}
    </li>
  );
}

function renderValue(value: unknown): Html {
  return (
    <>
      <code>{printJson(value)}</code>{" "}
    </>
  );
}

function renderResponses({ responses, rejections }: Endpoint): Html {
  return (
    <>
      <h4>Responses</h4>
      <ul class="fields">
        {responses.map(({ status, when }) => (
          <li>
            <p class="field-line">
              <span class="status status-good">{status}</span> {renderProse(when)}
            </p>
          </li>
        ))}
      </ul>
      {responses.map(
        ({ status, fields }) =>
          fields.length > 0 && (
            <details class="rejections">
              <summary>
                Fields <span class="quiet">{status}</span>
              </summary>
              <ul class="fields">{fields.map((field) => renderField(field))}</ul>
            </details>
          ),
      )}
      <details class="rejections">
        <summary>
          Errors{" "}
          <span class="quiet">
            {[...new Set(rejections.map(({ status }) => status))].join(" ")}
          </span>
        </summary>
        <ul class="fields">
          {rejections.map(({ status, codes }) => (
            <li>
              <p class="field-line">
                <span class="status">{status}</span>{" "}
                {codes.map((code) => (
                  <>
                    <a href={`${REFERENCE_PATH}#code-${code}`}>
                      <code>{code}</code>
                    </a>{" "}
                  </>
                ))}
              </p>
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

const LANGUAGES = [
  { value: "curl", name: "curl", language: "sh", print: printCurl },
  { value: "typescript", name: "TypeScript", language: "ts", print: printTypeScript },
  { value: "python", name: "Python", language: "python", print: printPython },
] as const;

/** Shows one language at a time. The choice needs no script. */
function renderRequest(endpoint: Endpoint): Html {
  const { id, method, access, body, summary, isStream } = endpoint;
  const request = {
    ...{ method, path: toSamplePath(endpoint), query: toSampleQuery(endpoint) },
    isKeyed: access === "key",
    isStream,
    body: body?.sample,
  };
  // A program reads a stream as it arrives, which the other samples do not.
  const languages = isStream ? LANGUAGES.slice(0, 1) : LANGUAGES;
  return (
    <figure class="sample languages">
      <figcaption>
        <span class="visually-hidden">Request in</span>{" "}
        <span class="language-tabs" role="radiogroup" aria-label={`Language: ${summary}`}>
          {languages.map(({ value, name }) => (
            <label>
              <input
                type="radio"
                name={`${id}-language`}
                value={value}
                data-language
                checked={value === "curl"}
              />
              {name}
            </label>
          ))}
        </span>
      </figcaption>
      {languages.map(({ value, name, language, print }) => (
        <div class={`of-${value}`}>
          {renderCopyButton(`${id}-${value}`, `the request in ${name}: ${summary}`)}
          <pre>
            <code id={`${id}-${value}`}>
              {highlight(WRITTEN_EXAMPLES[id]?.[value] ?? print(request), language)}
            </code>
          </pre>
        </div>
      ))}
    </figure>
  );
}

function renderSample({ responses }: Endpoint): Html | undefined {
  const response = responses.find(({ sample }) => sample !== undefined);
  if (response === undefined) return undefined;
  return (
    <figure class="sample">
      <figcaption>
        Response <span class="status status-good">{response.status}</span>
      </figcaption>
      <pre>
        <code>{renderJson(response.sample)}</code>
      </pre>
    </figure>
  );
}

function toSamplePath({ path, parameters }: Endpoint): string {
  return path.replace(/\{(\w+)\}/g, (_, name) => {
    const found = parameters.find(
      (parameter) => parameter.in === "path" && parameter.name === name,
    );
    return encodeURIComponent(String(found?.sample ?? name));
  });
}

/** A parameter without a default is required. */
function toSampleQuery({ parameters }: Endpoint): string {
  const asked = parameters.filter(
    (parameter) => parameter.in === "query" && parameter.default === undefined,
  );
  if (asked.length === 0) return "";
  return `?${asked.map(({ name, sample }) => `${name}=${encodeURIComponent(String(sample))}`).join("&")}`;
}
