// The texts of a page whose colour is too near to what is behind them (WCAG 2.1, 1.4.3: 4.5, or 3 for large text).
const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function colour(name) {
  paint.clearRect(0, 0, 1, 1);
  paint.fillStyle = name;
  paint.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = paint.getImageData(0, 0, 1, 1).data;
  return [red, green, blue, alpha / 255];
}
function over(top, below) {
  return [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3]));
}
function light(rgb) {
  const [red, green, blue] = rgb.map((part) =>
    part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function behind(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const layer = colour(getComputedStyle(at).backgroundColor);
    if (layer[3]) layers.unshift(layer);
    if (layer[3] === 1) break;
  }
  const page = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  return layers.reduce((below, layer) => over(layer, below), page);
}
const found = [];
for (const element of document.body.querySelectorAll("*")) {
  const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const hidden = element.closest("[aria-hidden=true], script, style, option") || !element.getClientRects().length;
  // A square of a legend is a picture, not a text.
  if (!own || hidden || element.textContent === "■") continue;
  const style = getComputedStyle(element);
  const ground = behind(element);
  const levels = [light(over(colour(element.ownerSVGElement ? style.fill : style.color), ground)), light(ground)];
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  const ratio = (Math.max(...levels) + 0.05) / (Math.min(...levels) + 0.05);
  if (ratio < (large ? 3 : 4.5)) found.push(element.tagName + " " + element.textContent.slice(0, 30) + " " + ratio.toFixed(2));
}
return found;
