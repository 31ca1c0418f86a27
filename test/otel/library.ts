// The library as it is built, where its addon lies beside it.
import { join } from 'node:path';

export const { encodeOtlp, measures } = require(join(__dirname, '..', '..', 'dist')) as typeof import('../../ts/index');
