import { rounded } from '../../src/cli/bench/machine.ts'
import { median } from '../support/statistics.ts'
import type { Scenario, Values } from './scenarios.ts'

/** One figure of one program. */
export interface Measured {
  readonly median: number
  readonly min: number
  readonly max: number
  readonly rounds: readonly number[]
}

/** Figures by title, then by program. */
export type Results = Readonly<Record<string, Readonly<Record<string, Measured>>>>

/** The name of the upstream among the programs. */
export const UPSTREAM = 'upstream'

/** Sums up the rounds of a scenario. @param rounds values by program */
export function summarise({ figures }: Scenario, rounds: ReadonlyArray<Readonly<Record<string, Values>>>): Results {
  const programs = [...new Set(rounds.flatMap((round) => Object.keys(round)))]
  return Object.fromEntries(
    figures.map(({ title, of, ofProxies = false }) => {
      const ofPrograms = programs
        .filter((program) => !ofProxies || program !== UPSTREAM)
        .map((program) => {
          const values = rounds.map((round) => of(round[program] ?? {}, round[UPSTREAM] ?? {}))
          return [program, measured(values.filter((value) => Number.isFinite(value)))] as const
        })
      return [title, Object.fromEntries(ofPrograms.filter(([, { rounds: all }]) => all.length > 0))]
    }),
  )
}

function measured(values: readonly number[]): Measured {
  return {
    median: rounded(median(values)),
    min: rounded(Math.min(...values)),
    max: rounded(Math.max(...values)),
    rounds: values.map(rounded),
  }
}

/** A table in Markdown: a line for each figure, a column for each program; `median (least–most)`. */
export function tableOf(results: Results, programs: readonly string[]): string {
  const head = ['', ...programs]
  const rows = Object.entries(results).map(([title, of]) => [title, ...programs.map((program) => cellOf(of[program]))])
  const widths = head.map((name, column) => Math.max(3, name.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const lineOf = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(' | ')} |`
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [lineOf(head), lineOf(rule), ...rows.map(lineOf)].join('\n')
}

function cellOf(of: Measured | undefined): string {
  if (of === undefined) return '–'
  const [middle, least, most] = [of.median, of.min, of.max].map(short)
  return least === most ? `${middle}` : `${middle} (${least}–${most})`
}

/** Three digits, and no fraction from 100 on. */
export function short(value: number): string {
  const size = Math.abs(value)
  if (size >= 1000) return Math.round(value).toLocaleString('en').replaceAll(',', ' ')
  return value.toFixed(size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2)
}
