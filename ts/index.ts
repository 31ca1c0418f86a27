// What other programs import from this package.

export { type AnswerHead, isAnswer, measures, type MeasureRow, type Usage, UsageScanner } from './native';
export type { TurnReport } from './report/line';
export { TurnReporter } from './report/reporter';
export { encodeOtlp, type OtlpContext, type OtlpUnit } from './export/otlp';
export { type ModelRoute, modelRoute, type ModelRouteOptions, type RouteCounts } from './route';
export { TokenLedger } from './route/ledger';
export { version } from './version';
export { type AgentDay, type AgentNow, readDay, readNow } from './watch/reading';
