// The store and its lock, as the addon has them.

import { isObject, listOf, parseObject } from '../json';
import type { BindingLook } from './binding';
import { loadNative } from './load';
import { type Look, parseUnits, type Unit } from './look';
import { parseReport, type ShownReport } from './report';

/** A look in the addon's memory, for the store. */
export type NativeLook = BindingLook;

/** What the store keeps, and how long. */
export interface StoreSettings {
  keepFineMs: number;
  keepMinutesMs: number;
  processes: boolean;
}

/** Who holds a measure folder's lock. */
export interface Holder {
  /** Its process, as the kernel names it; null where it is in another name space of processes. */
  pid: number | null;
  /** Since when, in seconds since 1970. */
  since: number | null;
  /** Whether it wrote itself down as a watcher does. */
  isWatcher: boolean;
}

/** The store of a measure folder, opened. @throws Error the folder can't be read, made or mended */
export const openStore = (folder: string, settings: StoreSettings) => new (loadNative().Store)(folder, JSON.stringify(settings));

/** An open store. */
export type Store = ReturnType<typeof openStore>;

/** Follows what routes, harnesses and starters say of the agents, from the last look of a store on. `tokens` is the folder of tokens files. */
export const openGatherer = (tokens: string, store: Store, boot: string | undefined) => new (loadNative().Gatherer)(tokens, store, Date.now() / 1000, boot);

/** What follows it. */
export type Gatherer = ReturnType<typeof openGatherer>;

/** What an open store found when it was opened. */
export interface Resumed {
  counted: string | null;
  /** Seconds since 1970. */
  lastLook: number | null;
  notes: string[];
}

/** What a store found. */
export const resumedOf = (store: Store): Resumed => JSON.parse(store.resumed()) as Resumed;

/** A measure folder's lock, asked for: whoever holds it if it was taken. It is freed when this process ends. */
export function takeLock(folder: string): { lock: unknown } | { holder: Holder } {
  const lock = new (loadNative().Lock)(folder, Date.now());
  const holder = lock.holder();
  return holder === null ? { lock } : { holder: JSON.parse(holder) as Holder };
}

/** Who holds a measure folder's lock, if anybody does. Never to be asked by the process that holds it. */
export function lockHolder(folder: string): Holder | undefined {
  const holder = loadNative().lockHolder(folder);
  return holder === null ? undefined : (JSON.parse(holder) as Holder);
}

/** Ends the watcher of a measure folder and waits until it has ended; its process, or undefined if there was none. */
export const stopWatcher = (folder: string, patienceMs: number): number | undefined =>
  loadNative().stopWatcher(folder, patienceMs) ?? undefined;

/** The watcher's last look. */
export interface LastLook extends Look {
  /** How far apart its looks are, in seconds. */
  every: number;
  /** What the watcher itself costs: core-seconds since it started, and bytes. */
  cost: { cpu: number; memory: number } | null;
  /** Cores in use since the look before, by unit. */
  rates: ReadonlyMap<string, number>;
  /** How it went. */
  report: ShownReport;
}

/** The watcher's last look, if there is one to believe; whether it is recent is the caller's to judge. */
export function readLastLook(folder: string): LastLook | undefined {
  const text = loadNative().readNow(folder, Date.now());
  if (text === null) return undefined;
  const { at, units, every, cost, rates, report } = parseObject(text);
  return {
    at: Number(at),
    units: parseUnits(units),
    every: Number(every),
    cost: cost as LastLook['cost'],
    rates: new Map(Object.entries(rates as Record<string, number>)),
    report: parseReport(report),
  };
}

/** An hour of a unit's day: what each measure was over it, by full name. */
export interface Hour {
  /** Seconds since 1970. */
  from: number;
  measures: Readonly<Record<string, number>>;
}

/** The last 24 hours of what is kept. */
export interface Day extends Look {
  /** The last look in it, in seconds since 1970; null if it has none. */
  lastLook: number | null;
  /** What couldn't be read, a sentence a file. */
  skipped: string[];
  /** By unit, where one agent's day was asked for. */
  hours: ReadonlyMap<string, Hour[]>;
}

/** The 24 hours up to now; `agent`: only this agent and its processes, with their hours. */
export function readKeptDay(folder: string, agent?: string): Day {
  const { day, lastLook, skipped } = parseObject(loadNative().readDay(folder, Date.now(), agent));
  const { at, units } = isObject(day) ? day : {};
  const parsed: Unit[] = parseUnits(units);
  const hours = new Map(listOf(units).flatMap((unit) => (isObject(unit) && Array.isArray(unit['hours']) ? [[String(unit['id']), unit['hours'] as Hour[]]] : [])));
  return { at: Number(at), units: parsed, lastLook: typeof lastLook === 'number' ? lastLook : null, skipped: skipped as string[], hours };
}
