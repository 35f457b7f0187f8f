import { describe, expect, it } from 'vitest'
import { inNewPairs, inTurns } from '../../../bench/support/new-pairs.ts'

/** Programs that only note what happens to them. */
class World {
  readonly log: string[] = []
  readonly start = {
    base: () => this.#start('base'),
    change: () => this.#start('change'),
  }

  async #start(name: string): Promise<{ name: string; stop(): Promise<void> }> {
    this.log.push(`start ${name}`)
    return {
      name,
      stop: async () => {
        this.log.push(`stop ${name}`)
      },
    }
  }
}

describe('rounds of two programs', () => {
  it('go in the order ABBA, and give each its own value', async () => {
    const order: string[] = []
    const rounds = await inTurns({ base: 'a', change: 'b' }, { rounds: 4, first: 'base' }, async (name) => {
      order.push(name)
      return `${name}${order.length}`
    })
    expect(order.join('')).toBe('abbaabba')
    expect(rounds).toEqual([
      { base: 'a1', change: 'b2' },
      { base: 'a4', change: 'b3' },
      { base: 'a5', change: 'b6' },
      { base: 'a8', change: 'b7' },
    ])
  })

  it('go in the order BAAB where the change is first', async () => {
    const order: string[] = []
    await inTurns({ base: 'a', change: 'b' }, { rounds: 2, first: 'change' }, async (name) => order.push(name))
    expect(order.join('')).toBe('baab')
  })
})

describe('pairs of programs', () => {
  it('are new each time, and start in turns', async () => {
    const world = new World()
    const results = await inNewPairs(2, world.start, async ({ base, change }, first) => {
      world.log.push('work')
      return [base.name, change.name, first]
    })
    expect(results).toEqual([
      ['base', 'change', 'base'],
      ['base', 'change', 'change'],
    ])
    expect(world.log).toEqual([
      ...['start base', 'start change', 'work', 'stop change', 'stop base'],
      ...['start change', 'start base', 'work', 'stop base', 'stop change'],
    ])
  })

  it('are stopped when the work fails', async () => {
    const world = new World()
    const failing = inNewPairs(3, world.start, () => Promise.reject(new Error('a wrong answer')))
    await expect(failing).rejects.toThrow('a wrong answer')
    expect(world.log).toEqual(['start base', 'start change', 'stop change', 'stop base'])
  })

  it('leave nothing behind when only one of them starts', async () => {
    const world = new World()
    const start = { base: world.start.base, change: () => Promise.reject(new Error('does not start')) }
    await expect(inNewPairs(1, start, async () => 0)).rejects.toThrow('does not start')
    expect(world.log).toEqual(['start base', 'stop base'])
  })
})
