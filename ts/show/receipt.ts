// A run's receipt for a person: a few lines to read and to paste.

import type { Receipt } from '../run/receipt';
import { bytes, count, duration, many, money, percent } from './numbers';
import type { Paint } from './paint';

/** The receipt's lines, ended by a newline. */
export function showReceipt(receipt: Receipt, paint: Paint): string {
  const { agent, wall, exit } = receipt;
  const ended = exit.signal === null ? `exit ${exit.code}` : `ended by ${exit.signal}`;
  const lines = linesOf(receipt);
  const width = Math.max(...lines.map(([label]) => label.length));
  const body = lines.map(([label, text]) => `${paint.dim(label.padEnd(width))}  ${text}`);
  return `${[`${paint.bold(agent.name)} ${paint.dim(`· ${duration(wall)} ·`)} ${exit.code === 0 ? ended : paint.warn(ended)}`, ...body].join('\n')}\n`;
}

/** Labels and texts. What isn't known is said to be. */
function linesOf(receipt: Receipt): [label: string, text: string][] {
  const { measures, processes, folder, ports, left } = receipt;
  const value = (name: string): number | undefined => measures[`link.${name}`];
  const cpu = value('cpu.used.sum') ?? 0;
  return [
    ['cpu', `${duration(cpu)}, ${percent(receipt.wall > 0 ? cpu / receipt.wall : 0)} of a core`],
    ['memory', memoryText(receipt)],
    ['processes', processesText(processes)],
    ['disk', diskText(value('disk.read.sum'), value('disk.written.sum'))],
    ['its folder', folderText(folder)],
    ...(ports.length > 0 ? [['ports', ports.join(', ')] as [string, string]] : []),
    ...networkLines(value),
    ...startLines(value),
    ...(left.length > 0 ? [['left behind', leftText(left)] as [string, string]] : []),
  ];
}

function memoryText({ measures, missing, kernel }: Receipt): string {
  const peak = measures['link.memory.peak.max'];
  const largest = kernel.largestProcess === null ? '' : `; its largest process ${bytes(kernel.largestProcess)}, shared pages in full`;
  const group = kernel.groupPeak === null ? '' : `; charged ${bytes(kernel.groupPeak)}, file cache included`;
  const seen = peak === undefined ? `not known (${missing['link.memory.peak.max'] ?? ''})` : `${bytes(peak)} at most`;
  return `${seen}${largest}${group}`;
}

function processesText({ started, most }: Receipt['processes']): string {
  const atOnce = `${Math.max(1, most)} at most at once`;
  return started === null ? `${atOnce}; how many in all is not known here` : `${started} started, ${atOnce}`;
}

function diskText(read: number | undefined, written: number | undefined): string {
  return read === undefined || written === undefined ? 'not known: a process may not be asked' : `${bytes(read)} read, ${bytes(written)} written`;
}

function folderText({ files, bytes: grown, about, why }: Receipt['folder']): string {
  if (files === null || grown === null) return `not known: it ${why ?? 'was not counted'}`.replace('it its folder: ', 'it ');
  const signed = (value: number, text: string): string => `${value < 0 ? '-' : '+'}${text}`;
  if (files === 0 && grown === 0) return 'as it was';
  return `${about ? 'about ' : ''}${signed(files, many(Math.abs(files), 'file'))}, ${signed(grown, bytes(Math.abs(grown)))}`;
}

function networkLines(value: (name: string) => number | undefined): [string, string][] {
  const [received, sent] = [value('network.in.sum'), value('network.out.sum')];
  const isCounted = received !== undefined && sent !== undefined;
  const requests = value('requests.model.sum') ?? 0;
  const unmetered = value('requests.unmetered.sum') ?? 0;
  const tokens = tokensText(value);
  const model: [string, string] = ['model', `${many(requests, 'request')}${unmetered > 0 ? `, ${unmetered} without usage` : ''}`];
  return [
    ['network', isCounted ? `${bytes(received)} in, ${bytes(sent)} out` : `not counted${tokens === undefined ? ', nor tokens' : ''}: --meter counts ${tokens === undefined ? 'them' : 'it'}`],
    ...(isCounted ? [model] : []),
    ...(tokens === undefined ? [] : [['tokens', `${tokens}${requests > 0 ? '' : ', by its harness\'s count'}`] as [string, string]]),
    ...turnLines(value),
  ];
}

function tokensText(value: (name: string) => number | undefined): string | undefined {
  const [input, output, cached] = [value('tokens.input.sum'), value('tokens.output.sum'), value('tokens.cached.sum') ?? 0];
  if (input === undefined && output === undefined) return undefined;
  return `${count(input ?? 0)} in${cached > 0 ? ` (${count(cached)} cached)` : ''}, ${count(output ?? 0)} out`;
}

function turnLines(value: (name: string) => number | undefined): [string, string][] {
  const [turns, tools, errors, cost] = ['turns.sum', 'tool_calls.sum', 'errors.sum', 'cost.sum'].map(value);
  if (turns === undefined && cost === undefined) return [['turns', 'not known, nor spend: no harness said any']];
  const more = [...(tools === undefined ? [] : [many(tools, 'tool call')]), ...(errors ? [many(errors, 'error')] : [])];
  return [
    ['turns', `${[turns === undefined ? 'not said' : String(turns), ...more].join(', ')}`],
    ['spend', cost === undefined ? 'not said' : money(cost)],
  ];
}

function startLines(value: (name: string) => number | undefined): [string, string][] {
  const cold = value('time.start_cold.own');
  const start = cold ?? value('time.start_warm.own');
  const stop = value('time.stop.own');
  const texts = [...(start === undefined ? [] : [`${duration(start)} to start, ${cold === undefined ? 'warm' : 'cold'}`]), ...(stop === undefined ? [] : [`${duration(stop)} to stop`])];
  return texts.length === 0 ? [] : [['times', texts.join('; ')]];
}

function leftText(left: Receipt['left']): string {
  const held = left.reduce((sum, { memory }) => sum + (memory ?? 0), 0);
  const named = left.slice(0, 5).map(({ pid, name }) => (name === null ? String(pid) : `${pid} ${name}`));
  const more = left.length > named.length ? `, and ${left.length - named.length} more` : '';
  return `${many(left.length, 'process still runs', 'processes still run')} and ${left.length === 1 ? 'holds' : 'hold'} ${bytes(held)}: ${named.join(', ')}${more}`;
}
