// What shells complete, made of the command table. One function a shell; none of them asks anybody but for agents' names.

import type { CommandRow, OptionRow } from './commands';

const AGENTS = 'lnk-measure completions agents 2>/dev/null';
const HELP: OptionRow = { names: ['--help'], value: undefined, description: 'Show this.', values: undefined };

/** A text as any of these shells takes it in single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const optionsOf = ({ options }: CommandRow): OptionRow[] => [...options, HELP];
const longest = ({ names }: OptionRow): string => names.at(-1) ?? '';
const commandsOf = (table: CommandRow[]): CommandRow[] => table.filter(({ word }) => word !== '');

function bash(table: CommandRow[]): string {
  const words = commandsOf(table).map(({ word }) => word).join(' ');
  const values = table.flatMap((row) =>
    row.options.filter(({ value }) => value !== undefined).map((option) => {
      const { values } = option;
      const reply = values === 'agents' ? `COMPREPLY=($(compgen -W "$(${AGENTS})" -- "$cur"))` : values === 'files' ? 'compopt -o default' : `COMPREPLY=($(compgen -W '${values?.join(' ') ?? ''}' -- "$cur"))`;
      return `    '${row.word} ${longest(option)}') ${reply}; return ;;`;
    }),
  );
  const options = table.map((row) => `    '${row.word}') words='${[...optionsOf(row).flatMap(({ names }) => names), ...row.words].join(' ')}' ;;`);
  return `# bash completion of lnk measure: source <(lnk measure completions bash)
_lnk_measure() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} first=1 word= words= at
  COMPREPLY=()
  if [[ \${COMP_WORDS[0]##*/} == lnk ]]; then
    first=2
    if ((COMP_CWORD == 1)); then
      COMPREPLY=($(compgen -W "measure $(compgen -c lnk- | sed s/^lnk-//)" -- "$cur"))
      return
    fi
    [[ \${COMP_WORDS[1]} == measure ]] || return
  fi
  if ((COMP_CWORD > first)) && [[ \${COMP_WORDS[first]} != -* ]]; then word=\${COMP_WORDS[first]}; fi
  for ((at = first; at < COMP_CWORD; at++)); do
    if [[ \${COMP_WORDS[at]} == -- ]]; then
      if ((at == COMP_CWORD - 1)); then COMPREPLY=($(compgen -c -- "$cur")); else compopt -o default; fi
      return
    fi
  done
  case "$word $prev" in
${values.join('\n')}
  esac
  case $word in
${options.join('\n')}
  esac
  ((COMP_CWORD == first)) && words+=' ${words}'
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _lnk_measure lnk lnk-measure
`;
}

function zsh(table: CommandRow[]): string {
  const described = commandsOf(table).map(({ word, summary }) => `    ${quoted(`${word}:${summary}`)}`);
  const inBrackets = (text: string): string => text.replace(/[[\]:\\]/g, '\\$&');
  const action = ({ values }: OptionRow): string => (values === 'agents' ? `{_values agent $(${AGENTS})}` : values === 'files' ? '_files' : values === undefined ? ' ' : `(${values.join(' ')})`);
  const spec = (option: OptionRow): string => {
    const value = option.value === undefined ? '' : `:${inBrackets(option.value)}:${action(option)}`;
    return quoted(`*${longest(option)}[${inBrackets(option.description)}]${value}`);
  };
  const cases = table.map((row) => {
    const specs = [...optionsOf(row).map(spec), ...(row.words.length > 0 ? [quoted(`1:word:(${row.words.join(' ')})`)] : [])];
    return `    ${quoted(row.word)}) _arguments ${specs.join(' ')} ;;`;
  });
  return `#compdef lnk lnk-measure
# zsh completion of lnk measure: source <(lnk measure completions zsh)
_lnk_measure() {
  local -a subs groups
  local word at
  subs=(
${described.join('\n')}
  )
  if [[ \${words[1]:t} == lnk ]]; then
    if ((CURRENT == 2)); then
      groups=(measure \${\${(M)\${(k)commands[@]}:#lnk-*}#lnk-})
      compadd -a groups
      return
    fi
    [[ $words[2] == measure ]] || return
    shift words; ((CURRENT--))
  fi
  at=\${words[(i)--]}
  if ((at < CURRENT)); then
    shift $at words; ((CURRENT -= at))
    _normal
    return
  fi
  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
    _describe command subs
    return
  fi
  if [[ $words[2] != -* ]]; then word=$words[2]; shift words; ((CURRENT--)); fi
  case $word in
${cases.join('\n')}
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _lnk_measure "$@"; else compdef _lnk_measure lnk lnk-measure; fi
`;
}

function fish(table: CommandRow[]): string {
  const at = (word: string): string => `-n ${quoted(`__lnk_measure_at ${quoted(word)}`)}`;
  const described = (text: string): string => `-d ${quoted(text)}`;
  const value = ({ value, values }: OptionRow): string =>
    value === undefined ? '' : values === 'agents' ? ` -xa '(${AGENTS})'` : values === 'files' ? ' -rF' : ` -xa ${quoted(values?.join(' ') ?? '')}`;
  const commands = commandsOf(table).map(({ word, summary }) => `    complete -c $program -f -n __lnk_measure_first -a ${word} ${described(summary)}`);
  const options = table.flatMap((row) => [
    ...optionsOf(row).map((option) => `    complete -c $program ${at(row.word)} -l ${longest(option).slice(2)} ${described(option.description)}${value(option)}`),
    ...row.words.map((word) => `    complete -c $program -f ${at(row.word)} -a ${word}`),
  ]);
  return `# fish completion of lnk measure: lnk measure completions fish | source
function __lnk_measure_words
    set -l words (commandline -opc)
    if test (path basename $words[1]) = lnk
        test "$words[2]" = measure; or return 1
        set -e words[2]
    end
    set -e words[1]
    string join \\n -- $words
    return 0
end
function __lnk_measure_first
    set -l words (__lnk_measure_words); or return 1
    test (count $words) -eq 0
end
function __lnk_measure_at
    set -l words (__lnk_measure_words); or return 1
    contains -- -- $words; and return 1
    set -l word $words[1]
    string match -q -- '-*' "$word"; and set word ''
    test "$word" = "$argv[1]"
end
complete -c lnk -f -n 'test (count (commandline -opc)) -eq 1' -a measure
for program in lnk lnk-measure
    complete -c $program -n '__lnk_measure_words >/dev/null; and not contains -- -- (__lnk_measure_words)' -f
${commands.join('\n')}
${options.join('\n')}
end
`;
}

/** The script of each shell there is one for. */
export const completions: Readonly<Record<'bash' | 'zsh' | 'fish', (table: CommandRow[]) => string>> = { bash, zsh, fish };
