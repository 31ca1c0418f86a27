// Looks for the fake addon.

type Measures = Record<string, number>;

export interface FakeUnit {
  id: string;
  kind: string;
  parent: string | null;
  name: string | null;
  owner: string | null;
  teams: string[];
  measures: Record<string, { now: number }>;
}

const MIB = 1024 * 1024;

export function unit(id: string, kind: string, parent: string | null, name: string | null, measures: Measures): FakeUnit {
  const now = Object.fromEntries(Object.entries(measures).map(([measure, value]) => [`link.${measure}`, { now: value }]));
  return { id, kind, parent, name, owner: null, teams: [], measures: now };
}

export const machine = (measures: Measures = {}): FakeUnit =>
  unit('mch_7f', 'machine', null, 'studio', {
    'memory.used.sum': 5300 * MIB,
    'cpu.used.sum': 7384.2,
    'network.in.sum': 812 * MIB,
    'network.out.sum': 64 * MIB,
    'processes.sum': 312,
    'ports.sum': 14,
    ...measures,
  });

export const agent = (id: string, name: string, measures: Measures = {}): FakeUnit =>
  unit(id, 'agent', 'mch_7f', name, { 'memory.used.sum': 734 * MIB, 'cpu.used.sum': 192.4, 'processes.sum': 2, ...measures });

export const processOf = (agentId: string, pid: number, name: string | null, mib: number, cpu = 1): FakeUnit =>
  unit(`${agentId}/${pid}`, 'process', agentId, name, { 'memory.used.sum': mib * MIB, 'cpu.used.sum': cpu });

export const report = (agents: object[] = [], sources: object[] = [], elapsedMs: number | null = 250) => ({ elapsedMs, sources, agents });

export const tree = (id: string, more: object = {}) => ({ id, from: 'link', by: 'tree', orphans: [], estimated: false, ...more });

/** A machine with an agent of Link's, whose many processes are folded, and one that was found. */
export function busyMachine() {
  const many = Array.from({ length: 14 }, (_, at) => processOf('agt_01', 4567 + at, at % 2 ? 'node' : null, 100 - at * 5));
  const units = [
    machine(),
    { ...agent('agt_01', 'main', { 'network.in.sum': 12 * MIB, 'network.out.sum': 900_000, 'ports.sum': 2, 'processes.sum': 14 }), owner: 'usr_01', teams: ['team_01'] },
    ...many,
    agent('mch_7f:claude', 'claude', { 'memory.used.sum': 310 * MIB, 'processes.sum': 1 }),
    processOf('mch_7f:claude', 901, 'node', 310, 41),
  ];
  const busier = units.map((each) => {
    const cpu = each.measures['link.cpu.used.sum']?.now ?? 0;
    return { ...each, measures: { ...each.measures, 'link.cpu.used.sum': { now: cpu + 0.05 } } };
  });
  const agents = [tree('agt_01', { orphans: [4570, 4571, 4572] }), tree('mch_7f:claude', { from: 'found' })];
  const sources = [
    { source: '/proc/<pid>/stat', micros: 900, reads: 15, absent: [] },
    { source: '/proc/<pid>/io', micros: 400, reads: 15, absent: [{ unit: 'agt_01/4570', measures: ['link.disk.read.sum', 'link.disk.written.sum'], why: 'denied', detail: 'Only root may read it.', count: 2 }] },
  ];
  return [
    { look: { at: 1_780_000_000, units }, report: report(agents, sources, null) },
    { look: { at: 1_780_000_000.25, units: busier }, report: report(agents, sources) },
  ];
}
