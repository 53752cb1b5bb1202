"use strict";
// The tooltips of charts, in a list of names and values, are text: Vega's own shows the value of a field called "image" as an image.
const tooltipIn = (list) => (_, event, item, value) => {
  list.hidden = value === null || value === undefined || value === "";
  if (list.hidden) return;
  const made = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
  const pairs = typeof value === "object" ? Object.entries(value) : [["", value]];
  list.replaceChildren(...pairs.flatMap(([name, shown]) => [made("dt", name), made("dd", String(shown))]));
  const box = list.getBoundingClientRect();
  list.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - box.width - 4))}px`;
  list.style.top = `${event.clientY + 16 + box.height > innerHeight ? event.clientY - box.height - 8 : event.clientY + 16}px`;
};
