import { Command, Option } from 'clipanion';
import { Misuse } from '../errors';
import { LnkCommand } from './command';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** `lnk measure completions`: what a shell needs to complete these commands. */
export class CompletionsCommand extends LnkCommand {
  static override paths = [['completions']];
  static override usage = Command.Usage({
    description: 'Prints what your shell needs to complete commands, options and agents.',
    details: `
      For \`lnk measure\` and \`lnk-measure\`. SHELL is bash, zsh or fish. Agents are completed where a watcher runs, by what
      it saw last; \`completions agents\` prints their names.
    `,
    examples: [
      ['bash, in ~/.bashrc', 'source <($0 completions bash)'],
      ['zsh, in ~/.zshrc after compinit', 'source <($0 completions zsh)'],
      ['fish', '$0 completions fish > ~/.config/fish/completions/lnk-measure.fish'],
    ],
  });
  static override readonly words = SHELLS;

  shell = Option.String({ required: false });

  async execute(): Promise<number> {
    if (this.shell === 'agents') return this.#agents();
    const shell = SHELLS.find((each) => each === this.shell);
    if (shell === undefined) throw new Misuse(`Which shell? Say one of ${SHELLS.join(', ')}.`);
    const { completions } = await import('../show/completions');
    this.context.stdout.write(completions[shell](await this.context.table()));
    return 0;
  }

  async #agents(): Promise<number> {
    const { readNow } = await import('../watch/reading');
    const names = (readNow() ?? []).map(({ name, id }) => name ?? id);
    this.context.stdout.write([...new Set(names)].map((name) => `${name}\n`).join(''));
    return 0;
  }
}
