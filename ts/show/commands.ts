// The command table: what a help, a shell's completions and the manual's page are made of.

/** One command of the table: what its help, its completions and its page in the manual are made of. */
export interface CommandRow {
  /** `''` is the group's own. */
  word: string;
  summary: string;
  details: string;
  options: OptionRow[];
  /** What each does, and the line, `$0` for the program. */
  examples: [string, string][];
  /** What a word that is no option may be. */
  words: readonly string[];
}

export interface OptionRow {
  /** `--agent`, in each way it may be written, its longest last. */
  names: string[];
  /** What its value is called; undefined where it takes none. */
  value: string | undefined;
  description: string;
  values: ValueSource;
}

/** What an option's values may be: these words, the agents there are, or a file's path; undefined where nobody can say. */
export type ValueSource = readonly string[] | 'agents' | 'files' | undefined;

/** An option as a person reads it: `--agent NAME`. */
export const shownOption = ({ names, value }: OptionRow): string => [names.join(', '), ...(value === undefined ? [] : [value])].join(' ');
