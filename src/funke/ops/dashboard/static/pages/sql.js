// What became of my query?
import { html } from "../view.js";
import { useData, useOffers } from "../data.js";
import { href } from "../router.js";
import { Answer, Copy, Empty, Section, Table } from "../parts.js";
import { nameOf } from "../sentences.js";
import { chainParts, count, plural } from "../words.js";

const RELATIONAL = /^(\w*(Scan|Calc|Aggregate|Join|Rank|Deduplicate|Match|Window\w*|Over\w*|Union|Sort|Limit|Values|Correlate|LookupJoin|ChangelogNormalize|WatermarkAssigner|NotNulls|Expand|Sink\w*))\s*[([]/;
const WORDS = /\b(SELECT|FROM|WHERE|GROUP BY|ORDER BY|HAVING|JOIN|LEFT|RIGHT|FULL|INNER|OUTER|ON|AS|AND|OR|NOT|IN|INSERT INTO|VALUES|CREATE|TABLE|VIEW|WITH|UNION|ALL|DISTINCT|WINDOW|OVER|PARTITION BY|TUMBLE|HOP|SESSION|CUMULATE|DESCRIPTOR|INTERVAL|CASE|WHEN|THEN|ELSE|END|BEGIN|STATEMENT SET|EXECUTE|FOR SYSTEM_TIME AS OF|LIMIT)\b/gi;

export function SqlPage({ job, path }) {
  const answer = useData(useOffers("/funke/jobs/{jobid}/sql") ? `/funke${path}/sql` : null);
  const statements = answer.value?.statements ?? [];
  const operators = operatorsOf(job);
  const relational = operators.filter((each) => RELATIONAL.test(each.text));
  if (!statements.length && !relational.length) return html`
    <${Answer} level="none" text="This job is not a query: its graph was made with the DataStream API." />
    <${Empty} title="No SQL here" text="Queries show their statement, their plan and the operator of each of its nodes." command="funke sql" />`;
  return html`<${Answer} level="none" text=${sentenceOf(statements, relational, job)} />
    ${statements.map((each, index) => html`<${Section} key=${index} title=${statements.length > 1 ? `Statement ${index + 1}` : "Statement"} aside=${each.sql ? html`<${Copy} text=${each.sql} label="Copy the statement" />` : null}>${each.sql ? html`<pre class="sql" tabindex="0">${highlighted(each.sql)}</pre>` : html`<p class="note">Made with the Table API: there is no text.</p>`}${each.plan ? html`<details open><summary>Optimized plan</summary><pre class="trace" tabindex="0" role="region" aria-label="Plan">${each.plan}</pre></details>` : null}<//>`)}
    <${Section} title="Its operators, from the sink back to the sources"><${Table} label="Operators of the query" rows=${operators.toReversed()} keyOf=${(each) => each.key} columns=${columns(job)} /><//>`;
}

function sentenceOf(statements, relational, job) {
  const made = `${plural(relational.length, "relational operator")} in ${plural(job.vertices.length, "vertex", "vertices")}`;
  return statements.length ? `${plural(statements.length, "statement")} became ${made}.` : `The query became ${made}.`;
}

// Every operator of the job with its vertex, sources first.
function operatorsOf(job) {
  return job.plan.nodes.flatMap((node) => chainParts(node.description).map((text, index) => ({ key: `${node.id}.${index}`, text, node, vertex: job.vertices.find((each) => each.id === node.id), isFirst: index === 0 })));
}

const columns = (job) => [
  { label: "Operator", kind: "key", show: (each) => { const [, name = each.text, rest = ""] = /^([\w: ]+?)([([].*)$/s.exec(each.text) ?? []; return html`<b>${name}</b><span class="muted">${rest}</span>`; } },
  { label: "Changes", kind: "tight", show: (each) => { const kinds = /changelogMode=\[([^\]]+)\]/.exec(each.text)?.[1]; return kinds ? html`<code>${kinds}</code>` : html`<span class="muted">–</span>`; } },
  { label: "Vertex", kind: "tight", show: (each) => html`<a href=${href(["jobs", job.jid, "graph"], { vertex: each.node.id })}>${nameOf(each.node).split(/[([]/)[0]}</a> <span class="muted">× ${each.node.parallelism}</span>` },
  { label: "Records in", isNumber: true, show: (each) => (each.isFirst && each.node.inputs?.length ? count(each.vertex?.metrics["read-records"]) : "") },
];

function highlighted(sql) {
  const pieces = [];
  let at = 0;
  for (const found of sql.matchAll(WORDS)) {
    pieces.push(sql.slice(at, found.index), html`<b key=${found.index}>${found[0]}</b>`);
    at = found.index + found[0].length;
  }
  return [...pieces, sql.slice(at)];
}
