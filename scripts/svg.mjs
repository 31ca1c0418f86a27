// A terminal's text, colours and all, as a picture.

const WIDTH = 8.43;
const HEIGHT = 19;
const PAD = 16;

/** What each code of SGR does to a text's look (ECMA-48, 8.3.117). */
const CODES = {
  1: { bold: true },
  2: { dim: true },
  22: { bold: false, dim: false },
  31: { colour: '#ff7b72' },
  32: { colour: '#7ee787' },
  33: { colour: '#e3b341' },
  36: { colour: '#76e3ea' },
  39: { colour: undefined },
};

const escapeXml = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** A run of text in one look. Its length is said, so that every font keeps the columns. */
function spanOf(text, column, { bold, dim, colour }) {
  if (text.trim() === '') return '';
  const lead = text.length - text.trimStart().length;
  const shown = text.trim();
  const style = `${bold ? ' font-weight="bold"' : ''}${dim ? ' fill-opacity="0.6"' : ''}${colour ? ` fill="${colour}"` : ''}`;
  const [x, length] = [PAD + (column + lead) * WIDTH, shown.length * WIDTH].map((each) => each.toFixed(1));
  return `<tspan x="${x}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${style}>${escapeXml(shown)}</tspan>`;
}

/** The text as an SVG, as wide as so many columns. */
export function svgOf(text, columns) {
  let look = {};
  const lines = text.trimEnd().split('\n').map((line, row) => {
    let column = 0;
    const spans = line.split(/(\x1b\[[\d;]*m)/).map((part) => {
      const codes = /^\x1b\[([\d;]*)m$/.exec(part)?.[1];
      if (codes !== undefined) {
        for (const code of codes.split(';')) look = { ...look, ...CODES[code] };
        return '';
      }
      const span = spanOf(part, column, look);
      column += part.length;
      return span;
    });
    return `<text y="${(PAD + (row + 0.8) * HEIGHT).toFixed(1)}" xml:space="preserve">${spans.join('')}</text>`;
  });
  const [width, height] = [Math.ceil(columns * WIDTH + 2 * PAD), lines.length * HEIGHT + 2 * PAD];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="#e6edf3">
${lines.join('\n')}
</g>
</svg>
`;
}
