/** A text's words in lines of at most `width` columns, each indented. */
export function wrap(text: string, width: number, indent: number): string {
  const lines: string[] = [];
  for (const paragraph of text.trim().split(/\n\s*\n/)) {
    if (lines.length > 0) lines.push('');
    let line = '';
    for (const word of paragraph.split(/\s+/).flatMap((word) => pieces(word, width - indent))) {
      if (line !== '' && indent + line.length + 1 + word.length > width) {
        lines.push(' '.repeat(indent) + line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    lines.push(' '.repeat(indent) + line);
  }
  return lines.join('\n');
}

/** A word, cut where it is longer than a line, as a path may be. */
function pieces(word: string, width: number): string[] {
  const most = Math.max(1, width);
  if (word.length <= most) return [word];
  return Array.from({ length: Math.ceil(word.length / most) }, (_, at) => word.slice(at * most, (at + 1) * most));
}
