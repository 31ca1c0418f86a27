// The manual's page, made of the command table, in man(7).

import { version } from '../version';
import { type CommandRow, shownOption } from './commands';

/** A text as roff takes it: no letter of it is an instruction. */
const roff = (text: string): string => text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^([.'])/gm, '\\&$1');
/** Prose: what is in backticks is set in bold. */
const prose = (text: string): string => roff(paragraph(text)).replace(/`([^`]*)`/g, '\\fB$1\\fR');
const paragraph = (text: string): string => text.trim().replace(/\s+/g, ' ');
const nameOf = ({ word }: CommandRow): string => `lnk measure ${word}`.trim();

function section(row: CommandRow): string {
  const options = row.options.map((option) => `.TP\n\\fB${roff(shownOption(option))}\\fR\n${prose(option.description)}`);
  const examples = row.examples.map(([what, line]) => `${prose(what)}:\n.RS 4\n.nf\n${roff(line.replaceAll('$0', 'lnk measure'))}\n.fi\n.RE`);
  return [`.SS ${roff(nameOf(row))}`, prose(row.summary), ...paragraphs(row.details), ...options, ...examples.flatMap((example) => ['.PP', example])].join('\n');
}

const paragraphs = (text: string): string[] =>
  text
    .split(/\n\s*\n/)
    .filter((each) => each.trim() !== '')
    .flatMap((each) => ['.PP', prose(each)]);

/** The page of lnk-measure(1). */
export function showManual(table: CommandRow[]): string {
  const own = table.find(({ word }) => word === '');
  return `.TH LNK\\-MEASURE 1 "" "lnk\\-measure ${roff(version)}"
.SH NAME
lnk\\-measure \\- ${prose(own?.summary ?? '').replace(/\.$/, '')}
.SH SYNOPSIS
\\fBlnk measure\\fR [\\fICOMMAND\\fR] [\\fIOPTIONS\\fR]
.PP
\\fBlnk\\-measure\\fR [\\fICOMMAND\\fR] [\\fIOPTIONS\\fR]
.SH COMMANDS
${table.map(section).join('\n')}
.SH ENVIRONMENT
.TP
\\fBLNK_HOME\\fR
Link's settings folder; else ~/.lnk, or ~/.config/lnk where only that is there.
.TP
\\fBLNK_COMMAND\\fR
The lnk that is asked for agents; else the one on the PATH.
.TP
\\fBNO_COLOR\\fR, \\fBFORCE_COLOR\\fR
No colour, or colour where there is no terminal.
.SH FILES
.TP
~/.lnk/measure/
What the watcher keeps, and its settings: settings.toml.
.SH EXIT STATUS
0; 1 where what was asked for isn't there or failed; 2 where it was used wrongly.
`;
}
