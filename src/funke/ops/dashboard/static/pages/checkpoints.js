// Could I lose work?
import { html } from "../view.js";
import { now, useData } from "../data.js";
import { pick } from "../router.js";
import { Answer, Empty, Facts, Num, Path, Section, Share, Shown, Status, Table } from "../parts.js";
import { checkpointSentence, nameOf } from "../sentences.js";
import { ago, bytes, count, duration, isNumber, moment } from "../words.js";

const NEVER = 9e15;

export function CheckpointsPage({ job, path, query }) {
  const answer = useData(`${path}/checkpoints`);
  const settings = useData(`${path}/checkpoints/config`).value;
  return html`<${Shown} of=${answer} rows=${6}>${(checkpoints) => html`
    <${Answer} ...${checkpointSentence(job, checkpoints, settings, now())} />
    <${Counts} checkpoints=${checkpoints} settings=${settings} />
    <${Section} title="History" aside="the last ones; choose one to see who wrote what"><${History} checkpoints=${checkpoints} query=${query} isOn=${settings && settings.interval < NEVER} /><//>
    ${query.checkpoint ? html`<${Details} key=${query.checkpoint} job=${job} path=${path} query=${query} />` : null}
    <div class="columns"><${Latest} checkpoints=${checkpoints} />${settings ? html`<${Settings} settings=${settings} />` : null}</div>
  `}<//>`;
}

function Counts({ checkpoints: { counts, summary } }) {
  return html`<${Facts} facts=${[
    ["Completed", count(counts.completed)], ["Failed", html`<span style=${counts.failed ? "color:var(--bad)" : ""}>${count(counts.failed)}</span>`], ["In progress", counts.in_progress], ["Restored from", counts.restored],
    summary?.end_to_end_duration && ["Duration, median", html`<${Num} value=${summary.end_to_end_duration.p50} as=${duration} unit="ms" /> <span class="small muted">at most ${duration(summary.end_to_end_duration.max)}</span>`],
    summary?.state_size && ["Size, median", html`<${Num} value=${summary.state_size.p50} as=${bytes} unit="bytes" /> <span class="small muted">at most ${bytes(summary.state_size.max)}</span>`],
  ]} />`;
}

function History({ checkpoints: { history }, query, isOn }) {
  const longest = Math.max(1, ...history.map((each) => each.end_to_end_duration));
  const largest = Math.max(1, ...history.map((each) => each.state_size));
  const columns = [
    { label: "Id", isNumber: true, show: (each) => each.id },
    { label: "Kind", kind: "tight", show: (each) => ({ SAVEPOINT: "savepoint", UNALIGNED_CHECKPOINT: "unaligned" })[each.checkpoint_type] ?? "checkpoint" },
    { label: "State", kind: "tight", show: (each) => html`<${Status} state=${each.status} />` },
    { label: "Triggered", kind: "tight", show: (each) => html`<time title=${moment(each.trigger_timestamp)}>${ago(each.trigger_timestamp, now())}</time>` },
    { label: "Duration", show: (each) => html`<${Share} part=${each.end_to_end_duration / longest} text=${duration(each.end_to_end_duration)} />` },
    { label: "Size", title: "all that it refers to", show: (each) => html`<${Share} part=${each.state_size / largest} text=${bytes(each.state_size)} />` },
    { label: "Written", isNumber: true, title: "what was written for it", show: (each) => html`<${Num} value=${each.checkpointed_size} as=${bytes} unit="bytes" />` },
    ...(history.some((each) => isNumber(each.stall_ms)) ? [{ label: "Stood still", isNumber: true, title: "how long processing waited", show: (each) => html`<${Num} value=${each.stall_ms} as=${duration} unit="ms" />` }] : []),
    { label: "What went wrong", kind: "wide", show: (each) => each.failure_message ?? "" },
  ].filter((column) => column.label !== "What went wrong" || history.some((each) => each.failure_message));
  return html`<${Table} label="History of checkpoints" rows=${history} keyOf=${(each) => each.id} columns=${columns} isOpen=${(each) => String(each.id) === query.checkpoint} onOpen=${(each) => pick({ checkpoint: String(each.id) === query.checkpoint ? "" : each.id, by: "" })}
    empty=${html`<${Empty} title="No checkpoint yet" text=${isOn ? "The first one comes after the interval." : "This job takes none. With this it takes one every ten seconds:"} command=${isOn ? undefined : "funke run -D execution.checkpointing.interval=10s -py job.py"} />`} />`;
}

function Details({ job, path, query }) {
  const details = useData(`${path}/checkpoints/details/${query.checkpoint}`);
  const by = query.by ?? Object.keys(details.value?.tasks ?? {})[0];
  const subtasks = useData(by ? `${path}/checkpoints/details/${query.checkpoint}/subtasks/${by}` : null);
  const nodes = job.plan.nodes;
  return html`<${Section} title=${`Checkpoint ${query.checkpoint}: who wrote what`}><${Shown} of=${details}>${({ tasks }) => html`<div class="columns">
    <${Table} isGrid label="By vertex" rows=${Object.entries(tasks)} keyOf=${([id]) => id} isOpen=${([id]) => id === by} onOpen=${([id]) => pick({ by: id })} columns=${[
      { label: "Vertex", show: ([id]) => { const node = nodes.find((each) => each.id === id); return node ? nameOf(node) : id; } },
      { label: "Acknowledged", isNumber: true, show: ([, task]) => `${task.num_acknowledged_subtasks} of ${task.num_subtasks}` },
      { label: "Duration", isNumber: true, show: ([, task]) => html`<${Num} value=${task.end_to_end_duration} as=${duration} unit="ms" />` },
      { label: "Size", isNumber: true, show: ([, task]) => html`<${Num} value=${task.state_size} as=${bytes} unit="bytes" />` }]} />
    ${subtasks.value ? html`<${Subtasks} subtasks=${subtasks.value.subtasks} />` : null}
  </div>`}<//>${subtasks.value?.subtasks.some((each) => isNumber(each.slot)) ? html`<p class="note">A slot writes the state of all its subtasks together: the sizes are those of slots, and the same slot may stand behind several vertices.</p>` : null}<//>`;
}

function Subtasks({ subtasks }) {
  const most = Math.max(1, ...subtasks.map((each) => each.state_size));
  return html`<${Table} isGrid label="By subtask" rows=${subtasks} keyOf=${(each) => each.index} columns=${[
    { label: "#", isNumber: true, show: (each) => each.index },
    { label: "Size", show: (each) => html`<${Share} part=${each.state_size / most} text=${bytes(each.state_size)} />` },
    { label: "Reached after", isNumber: true, title: "how long the barriers took to it", show: (each) => html`<${Num} value=${each.start_delay} as=${duration} unit="ms" />` },
    { label: "Written in", isNumber: true, show: (each) => html`<${Num} value=${each.checkpoint.async} as=${duration} unit="ms" />` },
    { label: "Stood still", isNumber: true, show: (each) => html`<${Num} value=${each.checkpoint.sync} as=${duration} unit="ms" />` },
    { label: "Slot", isNumber: true, show: (each) => each.slot ?? "–" }]} empty=${html`<p class="note">No subtask has acknowledged it.</p>`} />`;
}

function Latest({ checkpoints: { latest } }) {
  const rows = [["Last checkpoint", latest.completed, "latest_ack_timestamp"], ["Last savepoint", latest.savepoint, "latest_ack_timestamp"], ["Last failed", latest.failed, "trigger_timestamp"], ["Restored from", latest.restored, "restore_timestamp"]].filter(([, each]) => each);
  return rows.length ? html`<${Section} title="Latest"><${Table} label="Latest" rows=${rows} keyOf=${([name]) => name} columns=${[
    { label: "Which", kind: "tight", show: ([name, each]) => `${name}: ${each.id}` },
    { label: "When", kind: "tight", show: ([, each, time]) => html`<time title=${moment(each[time])}>${ago(each[time], now())}</time>` },
    { label: "Where, or why not", kind: "wide", show: ([, each]) => (each.failure_message ? each.failure_message : each.external_path ? html`<${Path} text=${each.external_path} />` : "") }]} /><//>` : null;
}

function Settings({ settings }) {
  return html`<${Section} title="Settings"><${Facts} facts=${[
    ["Every", settings.interval < NEVER ? duration(settings.interval) : "off"], ["Mode", settings.mode?.replace("_", " ")], ["Timeout", duration(settings.timeout)], ["Pause between", duration(settings.min_pause)], ["At once", settings.max_concurrent],
    ["Failures tolerated", settings.tolerable_failed_checkpoints], ["State backend", settings.state_backend], ["Storage", settings.checkpoint_storage], ["Kept when cancelled", settings.externalization?.enabled && !settings.externalization.delete_on_cancellation ? "yes" : "no"],
  ]} /><//>`;
}
