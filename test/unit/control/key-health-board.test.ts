import { expect, it } from 'vitest'
import { KeyHealthBoard } from '../../../src/control/fronts/key-health-board.ts'
import type { KeyHealthEvent } from '../../../src/shared/core/key-health-event.ts'

function boardAt(clock: { nowMs: number }): KeyHealthBoard {
  return new KeyHealthBoard({ now: () => clock.nowMs, monotonicUs: () => clock.nowMs * 1000 })
}

function news(keyId: string, kind: KeyHealthEvent['kind'], untilMs: number): KeyHealthEvent {
  return { keyId, kind, untilMs, reason: 'test' }
}

it('tells those who come later what still holds, the latest of each kind', () => {
  const clock = { nowMs: 1_000 }
  const board = boardAt(clock)
  board.add(news('a', 'cooling', 2_000))
  board.add(news('a', 'cooling', 3_000))
  board.add(news('b', 'disabled', 5_000))
  expect(board.current()).toEqual([news('a', 'cooling', 3_000), news('b', 'disabled', 5_000)])
  clock.nowMs = 4_000
  expect(board.current()).toEqual([news('b', 'disabled', 5_000)])
})

it('takes an open breaker off when it closes, and keeps nothing that is only of the moment', () => {
  const board = boardAt({ nowMs: 1_000 })
  board.add(news('a', 'breaker-open', 9_000))
  board.add(news('a', 'shrink', 9_000))
  board.add(news('a', 'breaker-closed', 1_000))
  expect(board.current()).toEqual([])
})
