import { Command, Option } from 'clipanion';
import { Misuse } from '../errors';
import { NAME_RULE } from '../run/options';
import { LnkCommand } from './command';

/**
 * `lnk measure run`, for its help alone: its words are read by `run/options`, and it runs in `run`, since what this
 * class needs would open the standard streams that the command is to have.
 */
export class RunCommand extends LnkCommand {
  static override paths = [['run']];
  static override usage = Command.Usage({
    description: 'Runs any command as an agent, and says at its end what it took.',
    details: `
      The command runs as it would without this: its streams, terminal, signals and exit code are its own. While it runs
      it is an agent in \`lnk measure\`, and the watcher sees it too. At the end a receipt goes to stderr; of the command
      line only the program's name is kept. With --meter a route and a proxy on this machine count its tokens and bytes:
      some harnesses behave differently behind another base URL.
    `,
    examples: [
      ['What a test run takes', '$0 run -- npm test'],
      ["A harness, its tokens counted", '$0 run --meter -- claude'],
      ['For a script', '$0 run --quiet --receipt build.json -- make'],
    ],
  });
  static override readonly values = { '--name': 'NAME', '--receipt': 'FILE' };
  static override readonly choices = { '--receipt': 'files' } as const;

  agentName = Option.String('--name', { description: `What the agent is called: ${NAME_RULE}. After its program where this is not said.` });
  meter = Option.Boolean('--meter', false, { description: 'Count its tokens and its network traffic.' });
  quiet = Option.Boolean('--quiet', false, { description: 'No receipt on stderr.' });
  receipt = Option.String('--receipt', { description: 'Write the receipt to a file, as JSON.' });

  execute(): Promise<number> {
    return Promise.reject(new Misuse('The command to run goes after --.'));
  }
}
