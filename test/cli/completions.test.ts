// What shells complete, in the shells themselves where they are here; and the manual's page.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { routes } from '../../ts/bin/routes';
import { Place, program } from './command';

const place = new Place();
const bin = join(place.folder, 'installed');
const env = { PATH: `${bin}:${process.env['PATH']}`, HOME: place.home, LNK_COMMAND: '', TERM: 'dumb' };
const scripts = new Map<string, string>();

beforeAll(async () => {
  mkdirSync(bin);
  for (const name of ['lnk', 'lnk-measure']) symlinkSync(program, join(bin, name));
  writeFileSync(join(bin, 'lnk-agent'), '#!/bin/sh\n', { mode: 0o755 });
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { status, stdout } = await place.run(['measure', 'completions', shell]);
    expect(status).toBe(0);
    scripts.set(shell, join(place.folder, `completion.${shell}`));
    writeFileSync(scripts.get(shell) ?? '', stdout);
  }
});
afterAll(() => place.remove());

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

/** What each shell offers for a line that ends where it completes. */
const OFFERS: Readonly<Record<string, (line: string) => string[]>> = {
  bash: (line) => {
    const code = 'source "$1"; IFS=" " read -ra COMP_WORDS <<<"$2"; [[ $2 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); compopt() { echo files; }; _lnk_measure; printf "%s\\n" "${COMPREPLY[@]}"';
    return lines(execFileSync('bash', ['--norc', '-c', code, 'bash', scripts.get('bash') ?? '', line], { env, encoding: 'utf8' }));
  },
  fish: (line) => {
    const code = 'source $argv[1]; complete -C $argv[2]';
    return lines(execFileSync('fish', ['--no-config', '-c', code, scripts.get('fish') ?? '', line], { env, encoding: 'utf8' })).map((offer) => offer.split('\t', 1)[0] ?? '');
  },
  // zsh completes in a terminal alone: one of its own, whose every offer is printed in place of being shown.
  zsh: (line) => {
    const inner = `PS1=; autoload -U compinit; compinit -u -D; source ${scripts.get('zsh')}; compadd() { local -a all; builtin compadd -O all "$@"; print -l -- OFFERS $all END; builtin compadd "$@" }; bindkey '^I' list-choices; setopt no_list_beep; print REA''DY`;
    const code = `zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z "$1"; local out chunk; while [[ $out != *READY* ]] && zpty -r z chunk; do out+=$chunk; done; zpty -w -n z "$2"$'\\t'; out=; repeat 100; do if zpty -rt z chunk; then out+=$chunk; [[ $out == *END* ]] && break; else sleep 0.05; fi; done; print -r -- $out; zpty -d z`;
    const out = execFileSync('zsh', ['-f', '-c', `f() { ${code} }; f "$@"`, 'zsh', inner, line], { env, encoding: 'utf8' });
    return [...out.replaceAll('\r', '').matchAll(/OFFERS\n([\s\S]*?)END/g)].flatMap(([, all = '']) => lines(all));
  },
};

const isHere = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0;

describe.each(['bash', 'zsh', 'fish'])('%s', (shell) => {
  const offers = (line: string): string[] => OFFERS[shell]?.(line) ?? [];
  const inShell = isHere(shell) ? test : test.skip;
  if (!isHere(shell)) process.stderr.write(`NOT TESTED: completions in ${shell}, which is not installed\n`);

  inShell('completes the commands, of both programs', () => {
    for (const line of ['lnk measure st', 'lnk-measure st']) expect(offers(line).sort()).toEqual(['start', 'status', 'stop']);
  });

  inShell('completes a command\'s options', () => {
    const offered = offers('lnk measure export --');
    for (const option of ['--url', '--header-file', '--off']) expect(offered).toContain(option);
    expect(offered).not.toContain('--agent');
  });

  inShell('completes what an option may be', () => {
    expect(offers('lnk measure settings --processes o').sort()).toEqual(['off', 'on']);
    expect(offers('lnk measure settings --reset keep').sort()).toEqual(['keep-fine', 'keep-minutes']);
  });

  inShell('says nothing of another group', () => {
    expect(offers('lnk agent st').filter((offer) => offer === 'start' || offer === 'status')).toEqual([]);
  });
});

test('each script names each command and option', () => {
  for (const path of scripts.values()) {
    const text = readFileSync(path, 'utf8');
    for (const word of routes.keys()) expect(text).toContain(word);
    for (const option of ['header-file', 'keep-minutes', 'foreground', 'meter']) expect(text).toContain(option);
  }
});

test('a shell there is no script for is wrong usage', async () => {
  for (const args of [[], ['tcsh']]) expect(await place.run(['measure', 'completions', ...args])).toMatchObject({ status: 2, stdout: '' });
});

test('agents are none where no watcher runs', async () => {
  expect(await place.run(['measure', 'completions', 'agents'], { LNK_MEASURE_NATIVE: '' })).toMatchObject({ status: 0, stdout: '', stderr: '' });
});

test('the page of the manual has each command, and mandoc finds no fault in it', () => {
  const page = join(program, '..', 'lnk-measure.1');
  const shown = readFileSync(page, 'utf8');
  for (const word of routes.keys()) expect(shown).toContain(`.SS lnk measure ${word}`.trim());
  if (spawnSync('mandoc', ['-T', 'lint', page]).error !== undefined) {
    process.stderr.write('NOT TESTED: the page of the manual, since mandoc is not installed\n');
    return;
  }
  const lint = spawnSync('mandoc', ['-T', 'lint', '-W', 'warning', page], { encoding: 'utf8' });
  expect(lint.stdout.split('\n').filter((line) => line !== '' && !line.includes('missing date'))).toEqual([]);
});
