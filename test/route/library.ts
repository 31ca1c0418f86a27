// The library as it is built, where its addon lies beside it.
import { join } from 'node:path';

export const { isAnswer, modelRoute, TokenLedger, TurnReporter, UsageScanner } = require(join(__dirname, '..', '..', 'dist')) as typeof import('../../ts/index');
