import { version } from '../version';

process.stdout.write(`${version}\n`);
