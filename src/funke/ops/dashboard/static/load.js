// How a vertex spends its time: busy, backpressured, idle, as three lengths with their numbers.
import { html } from "./view.js";
import { percent } from "./words.js";

export function Load({ load }) {
  if (!load.isMeasured) return html`<span class="load"><span class="load-bar" /><span class="load-text">not measured</span></span>`;
  const more = load.most - load.busy > 0.1 ? html` <span>(most ${percent(load.most)})</span>` : null;
  return html`<span class="load"><span class="load-bar"><i class="busy" style=${`width:${load.busy * 100}%`} /><i class="back" style=${`width:${load.back * 100}%`} /></span>
    <span class="load-text"><span><b>${percent(load.busy)}</b> busy${more}</span><span>${load.back > 0.005 ? html`<b>${percent(load.back)}</b> backp.` : ""}</span><span>${percent(load.idle)} idle</span></span></span>`;
}
