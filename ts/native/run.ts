// A run of a command, as the addon has it.

import type { Binding } from './load';
import { loadNative } from './load';
import { parseObject } from '../json';
import { Failure } from '../errors';

/** What is to be run. */
export interface Plan {
  words: readonly string[];
  /** What of the command's environment isn't this process's; null takes a variable out of it. */
  variables: readonly (readonly [name: string, value: string | null])[];
  /** The descriptors it is to have. */
  descriptors: readonly number[];
  /** What its control group is called. */
  group: string;
  /** The folder whose growth is told. */
  folder: string;
  /** A folder in it, maybe, whose growth isn't: the one this program itself writes to. */
  except: string;
}

/** A process that goes on after the command has ended. */
export interface Left {
  pid: number;
  start: number;
  name: string | null;
  /** Bytes. */
  memory: number | null;
}

/** What a command took; what isn't known is null, and `absent` says why. */
export interface Outcome {
  code: number | null;
  signal: number | null;
  wall: number;
  cpu: number;
  cpuBy: 'control-group' | 'processes';
  peak: number | null;
  looks: number;
  groupPeak: number | null;
  largest: number;
  started: number | null;
  mostProcesses: number;
  diskRead: number | null;
  diskWritten: number | null;
  files: number | null;
  bytes: number | null;
  about: boolean;
  ports: number[];
  stop: number | null;
  left: Left[];
  heldBy: 'control-group' | 'scope' | 'reaper';
  groupRemoved: boolean;
  absent: [name: string, why: string][];
}

/** The command could not be started; the exit code is the one a shell would give. */
export class NotStarted extends Failure {
  override readonly name = 'NotStarted';
  readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.code = code;
  }
}

/** The descriptors this process was started with. To be asked before it opens any of its own, a server's socket too. */
export const inheritedDescriptors = (): number[] => loadNative().inheritedDescriptors();

/** A command that runs, and this process around it. */
export class NativeRun {
  readonly #run: InstanceType<Binding['Run']>;
  readonly who: { pid: number; start: number | null; cgroup: string | null; groupDirs: string[] };

  /** @throws {NotStarted} there is no such program, or it can't be run */
  constructor(plan: Plan) {
    try {
      this.#run = new (loadNative().Run)(JSON.stringify(plan));
    } catch (error) {
      throw notStarted(error);
    }
    this.who = JSON.parse(this.#run.who) as NativeRun['who'];
  }

  /** Seconds until it first came to rest; null until then. */
  get startedIn(): number | null {
    return this.#run.startedIn;
  }

  /** Waits until it has ended. */
  async wait(): Promise<Outcome> {
    return JSON.parse(await this.#run.wait()) as Outcome;
  }
}

/** Adds up what a harness says from now on, beside the watcher that reads it and empties its file. */
export class NativeTurns {
  readonly #turns: InstanceType<Binding['Turns']>;

  /** @param file where it says it, below `home` */
  constructor(home: string, file: string) {
    this.#turns = new (loadNative().Turns)(home, file);
  }

  /** What it has said by now, by measure without `link.`; what it hasn't said isn't there. To be asked every second or so. */
  read(): Record<string, number> {
    return parseObject(this.#turns.read()) as Record<string, number>;
  }
}

function notStarted(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Failure) return error;
  try {
    const { code, message } = parseObject(error.message);
    return new NotStarted(String(message), Number(code));
  } catch {
    return error;
  }
}

/** Ends this process at once as the command ended. */
export const endAs = ({ code, signal }: Pick<Outcome, 'code' | 'signal'>): never => loadNative().endAs(code ?? 0, signal) as never;
