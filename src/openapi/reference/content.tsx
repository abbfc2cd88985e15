/** @jsxImportSource #html @jsxRuntime automatic */
/** The contents of the reference: the start page, and one page per table of an app. @module */
import { OPERATION_GROUPS } from "../../http/mod.ts";
import { type Html, renderCopyButton } from "../../pages/mod.ts";
import { PROBLEMS, type ProblemCode, toSentence } from "../../problem.ts";
import type { Document } from "../document.ts";
import { toGuidePath } from "../guides.tsx";
import { renderEndpoint } from "./endpoint_view.tsx";
import { type Endpoint, listEndpoints } from "./endpoints.ts";
import { GROUP_NAMES, toTablePath } from "./page_view.tsx";
import { renderProse } from "./prose.tsx";

export type Groups = ReadonlyMap<string, readonly Endpoint[]>;

export function groupEndpoints(document: Document): Groups {
  const groups = Map.groupBy(listEndpoints(document), ({ group }) => group);
  const order = Object.keys(OPERATION_GROUPS);
  return new Map([...groups].toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b)));
}

type Start = { endpoints: Html; tables: readonly string[] | undefined };

export function renderStart({ endpoints, tables }: Start): Html {
  return (
    <>
      <h1 id="introduction">API reference</h1>
      {renderIntroduction(tables !== undefined)}
      {tables !== undefined && renderTables(tables)}
      {endpoints}
    </>
  );
}

/** Endpoints under the headings of their groups. */
export function renderGroups(groups: Groups): Html {
  const about: Readonly<Record<string, string>> = OPERATION_GROUPS;
  return (
    <>
      {[...groups].map(([group, endpoints]) => (
        <>
          <h2 id={group}>
            <a class="anchor" href={`#${group}`}>
              {GROUP_NAMES[group] ?? group}
            </a>
          </h2>
          <p class="lead">{renderProse(about[group] ?? "")}</p>
          {endpoints.map(renderEndpoint)}
        </>
      ))}
    </>
  );
}

function renderIntroduction(hasKey: boolean): Html {
  return (
    <>
      <p class="lead">
        Read and write an app's rows over REST, and get the signed-in person. Also available as an{" "}
        <a href="/v1/openapi.json">OpenAPI 3.1 document</a>.
      </p>
      <div class="columns-2">
        <div class="endpoint-text">
          <p>
            Every request for rows needs an API key in the header <code>Authorization: Bearer</code>
            . The key identifies the app. Each app sees only its own rows.{" "}
            {!hasKey && "An administrator issues keys in the Console."}
          </p>
          <p>
            Bodies are JSON. Every error has a stable <a href="#errors">code</a>; the message is for
            people and can change. Other possible changes are in{" "}
            <a href={`${toGuidePath("operating")}#versions`}>Versions</a>, the rules for values in{" "}
            <a href={toGuidePath("data")}>Data</a>. In TypeScript, use the{" "}
            <a href={toGuidePath("clients")}>client</a>.
          </p>
        </div>
        <div class="endpoint-code">
          <figure class="sample">
            <figcaption>
              Setup for the examples {renderCopyButton("set-up", "the setup for the examples")}
            </figcaption>
            <pre>
              <code id="set-up">
                export ROWHOUSE_URL=<span data-origin>https://api.example.org</span>
                {"\n"}
                export ROWHOUSE_API_KEY=rh_…
              </code>
            </pre>
          </figure>
        </div>
      </div>
    </>
  );
}

function renderTables(tables: readonly string[]): Html {
  if (tables.length === 0)
    return (
      <>
        <h2 id="tables">Tables</h2>
        <p>
          This app has no tables yet: <a href={toGuidePath("push")}>push a schema</a>.
        </p>
      </>
    );
  return (
    <>
      <h2 id="tables">Tables</h2>
      <ul class="table-list">
        {tables.map((name) => (
          <li>
            <a href={toTablePath(name)}>
              <bdi>{name}</bdi>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Every code, because the Console's pages link to the codes of any request. */
export function renderCodes(): Html {
  return (
    <>
      <h2 id="errors">
        <a class="anchor" href="#errors">
          Errors
        </a>
      </h2>
      <p class="lead">
        The body is{" "}
        <code>
          {"{"}"error", "message", "requestId"{"}"}
        </code>
        , with <code>details</code> where fields are invalid. Identity endpoints return only the
        code.
      </p>
      <dl class="codes">
        {Object.entries(PROBLEMS).map(([code, { status, when, fix }]) => (
          <div id={`code-${code}`}>
            <dt>
              <a class="anchor" href={`#code-${code}`}>
                <code>{code as ProblemCode}</code>
              </a>{" "}
              <span class="status">{status}</span>
            </dt>
            <dd>{renderProse(`${toSentence(when)}. ${fix}`)}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

export function renderTable(table: string, endpoints: readonly Endpoint[]): Html {
  const suffix = ` (${table})`;
  return (
    <>
      <h1>
        <bdi>{table}</bdi>
      </h1>
      <p class="lead">The rows of this table, as your key's app has declared it.</p>
      <h2 class="visually-hidden">Endpoints</h2>
      {endpoints.map((endpoint) =>
        renderEndpoint({ ...endpoint, summary: endpoint.summary.replace(suffix, "") }),
      )}
    </>
  );
}

/** The content of a table's page without a key. */
export function renderKeyless(): Html {
  return (
    <>
      <h1>A table of your app</h1>
      <p class="lead">Enter an API key above. Only keys of an app show its tables.</p>
    </>
  );
}
