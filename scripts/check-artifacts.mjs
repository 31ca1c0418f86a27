// Checks that each package of a platform has an addon, and that it is for that platform: `node scripts/check-artifacts.mjs npm`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMain, root } from './root.mjs';

/** Of ELF's header, e_machine (elf.h); of Mach-O's, cputype (mach/machine.h). */
const ELF_MACHINES = { 62: 'x64', 183: 'arm64' };
const MACH_CPUS = { 0x0100_0007: 'x64', 0x0100_000c: 'arm64' };

/** The platform a program file is for, as `linux-x64` or `darwin-arm64`; undefined where it is none. */
export function platformOf(file) {
  if (file.length < 20) return undefined;
  const magic = file.readUInt32LE(0);
  const [system, machine] = magic === 0x464c_457f ? ['linux', ELF_MACHINES[file.readUInt16LE(18)]] : magic === 0xfeed_facf ? ['darwin', MACH_CPUS[file.readUInt32LE(4)]] : [];
  return machine === undefined ? undefined : `${system}-${machine}`;
}

/** What is wrong with the platforms' packages in a folder. */
export function faultsOf(folder, targets) {
  return targets.flatMap((target) => {
    const path = join(folder, target, `lnk-measure.${target}.node`);
    let file;
    try {
      file = readFileSync(path);
    } catch {
      return [`${path} is not there`];
    }
    const platform = platformOf(file);
    return platform !== undefined && target.startsWith(platform) ? [] : [`${path} is for ${platform ?? 'no platform'}`];
  });
}

if (isMain(import.meta.url)) {
  const folder = process.argv[2] ?? join(root, 'npm');
  const targets = readdirSync(folder);
  const { napi } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
  const faults = faultsOf(folder, targets);
  if (targets.length !== napi.targets.length) faults.push(`there are ${targets.length} packages for ${napi.targets.length} targets`);
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
}
