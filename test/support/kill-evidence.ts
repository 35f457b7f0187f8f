import { expect } from 'vitest'
import type { RequestRecord } from '../../src/simulator/ledger.ts'
import type { Fate } from './load.ts'
import { isServed } from './load.ts'
import type { Kill } from './nemesis.ts'
import { explains } from './nemesis.ts'
import type { StoredLog, StoredRow } from './stored-log.ts'

/** Expects that a kill explains every failed request. */
export function expectExplained(fates: readonly Fate[], kills: readonly Kill[]): void {
  const unexplained = fates.filter((fate) => !isServed(fate) && !kills.some((kill) => explains(kill, fate)))
  expect(unexplained, `kills: ${JSON.stringify(killsAround(kills, unexplained))}`).toEqual([])
}

/** The kills around the first failures that no kill explains, for the message. */
function killsAround(kills: readonly Kill[], fates: readonly Fate[]): unknown {
  return fates.slice(0, 5).map(({ id, startedAtMs, endedAtMs }) => ({
    id,
    kills: kills
      .filter(({ atMs, goneAtMs }) => atMs - 10_000 < endedAtMs && goneAtMs + 10_000 > startedAtMs)
      .map(({ victim, atMs, goneAtMs, clientPorts }) => ({
        victim,
        killedMsBeforeEnd: endedAtMs - atMs,
        goneMsBeforeEnd: endedAtMs - goneAtMs,
        clientPorts: clientPorts === null ? null : [...clientPorts],
      })),
  }))
}

/** Expects exactly one correct row for each request that got an answer or reached the upstream, and no other rows. */
export function expectOneRowEach(fates: readonly Fate[], log: StoredLog, upstream: readonly RequestRecord[]): void {
  const produced = new Map(upstream.map((record) => [record.user ?? '', record]))
  const rows = new Map<string, StoredRow[]>()
  for (const row of log.rows) {
    const id = row.client_request_id ?? `none: ${row.id}`
    rows.set(id, [...(rows.get(id) ?? []), row])
  }
  const sent = new Set(fates.map(({ id }) => id))
  const known = fates.filter(({ id, status, bytes }) => status > 0 || bytes > 0 || produced.has(id))
  expect(known.filter(({ id }) => !rows.has(id)).map(({ id }) => id)).toEqual([])
  expect([...rows].filter(([id, { length }]) => length !== 1 || !sent.has(id))).toEqual([])
  // An answer is complete only after its record is safe: each served request has a row with its exact tokens.
  const wrong = fates.filter(isServed).filter(({ id }) => {
    const [row] = rows.get(id) ?? []
    const truth = produced.get(id)
    return (
      row?.status !== 200 ||
      row.settlement !== 'exact' ||
      row.prompt_tokens !== truth?.promptTokens ||
      row.completion_tokens !== truth.completionTokens
    )
  })
  expect(wrong.map(({ id }) => ({ id, rows: rows.get(id), truth: produced.get(id) }))).toEqual([])
}

/** Expects an empty journal, and sums that agree with the rows. */
export function expectSettled(log: StoredLog): void {
  expect(log.rollupSums).toEqual(log.rowSums)
  expect(log.dailySums).toEqual([log.rowSums, log.rowSums])
  expect({ open: log.open, deadLetters: log.deadLetters, segments: log.segments }).toEqual({
    open: 0,
    deadLetters: 0,
    segments: [],
  })
}

export function tally(kills: readonly Kill[], fates: readonly Fate[], log: StoredLog): string {
  const count = (victim: Kill['victim']): number => kills.filter((kill) => kill.victim === victim).length
  const interrupted = log.rows.filter(({ settlement }) => settlement === 'interrupted').length
  return (
    `${kills.length} kills (${count('front')} fronts, ${count('control')} controls, ${count('supervisor')} supervisors), ` +
    `${fates.length} requests: ${fates.filter(isServed).length} served, ` +
    `${fates.filter((fate) => !isServed(fate)).length} failed; ${log.rows.length} rows, ${interrupted} interrupted`
  )
}
