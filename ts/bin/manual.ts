// Prints the manual's page; run by the bundler, which puts it beside the program.

import { showManual } from '../show/manual';
import { commandTable } from './run';

void commandTable().then((table) => process.stdout.write(showManual(table)));
