// A long list of which only the rows in sight are elements. All rows are equally high.
import { h } from "./dom.js";

export class LongList {
  /**
   * @param {number} height of a row, in pixels
   * @param {(index: number) => Node[]} draw what a row holds
   * @param {(index: number) => void} chosen called when the user goes to a row
   */
  constructor(label, height, draw, chosen) {
    Object.assign(this, { height, draw, chosen, count: 0, current: -1, rows: new Map() });
    this.inner = h("div", { class: "inner", role: "presentation" });
    this.element = h("div", {
      class: "long-list", role: "listbox", tabindex: "0", "aria-label": label,
      onscroll: () => this.show(), onkeydown: (event) => this.key(event),
    }, this.inner);
    new ResizeObserver(() => this.show()).observe(this.element);
  }

  set(count, current = -1) {
    this.count = count;
    this.current = Math.min(current, count - 1);
    this.inner.style.height = `${count * this.height}px`;
    this.redraw();
  }

  redraw() {
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.show();
  }

  show() {
    const first = Math.max(0, Math.floor(this.element.scrollTop / this.height) - 4);
    const last = Math.min(this.count, Math.ceil((this.element.scrollTop + this.element.clientHeight) / this.height) + 4);
    for (const [index, row] of this.rows) {
      if (index < first || index >= last) {
        row.remove();
        this.rows.delete(index);
      }
    }
    for (let index = first; index < last; index += 1) {
      if (this.rows.has(index)) continue;
      const row = h("div", {
        class: "long-row", role: "option", id: `row-${index}`, "aria-setsize": this.count, "aria-posinset": index + 1,
        "aria-selected": index === this.current ? "true" : "false", onclick: () => this.go(index),
      }, this.draw(index));
      row.style.transform = `translateY(${index * this.height}px)`;
      row.style.height = `${this.height}px`;
      this.rows.set(index, row);
      this.inner.append(row);
    }
    if (this.rows.has(this.current)) this.element.setAttribute("aria-activedescendant", `row-${this.current}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  go(index) {
    const wanted = Math.max(0, Math.min(index, this.count - 1));
    if (!this.count) return;
    this.rows.get(this.current)?.setAttribute("aria-selected", "false");
    this.current = wanted;
    const top = wanted * this.height;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    const bottom = top + this.height - this.element.clientHeight;
    if (bottom > this.element.scrollTop) this.element.scrollTop = bottom;
    this.show();
    this.rows.get(wanted)?.setAttribute("aria-selected", "true");
    this.chosen(wanted);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
    const to = {
      ArrowDown: this.current + 1, ArrowUp: this.current - 1, PageDown: this.current + page,
      PageUp: this.current - page, Home: 0, End: this.count - 1,
    }[event.key];
    if (to === undefined || event.target !== this.element) return;
    event.preventDefault();
    this.go(to);
  }
}
