import { describe, expect, it } from 'vitest'
import { OPERATION_TOOLS } from '../../../src/control/mcp/operation-table.ts'
import { toolNames } from '../../../src/control/mcp/servers/tool-names.ts'
import fc from '../../support/fast-check.ts'

const serverId = fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/)

describe('names of tools of servers', () => {
  it('are unique, short, and taken by model providers, whatever servers call them', () => {
    fc.assert(
      fc.property(
        serverId,
        fc.uniqueArray(fc.string({ minLength: 1, maxLength: 300 }), { maxLength: 40 }),
        (id, tools) => {
          const names = [...toolNames(id, tools).values()]
          for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
          expect(new Set(names).size).toBe(names.length)
        },
      ),
    )
  })

  it('do not depend on the other tools, or on their order', () => {
    const tools = ['search', 'a.b', 'a/b', 'x'.repeat(100)]
    const names = toolNames('server', tools)
    for (const tool of tools) expect(toolNames('server', [tool]).get(tool)).toBe(names.get(tool))
    expect(toolNames('server', tools.toReversed())).toEqual(names)
  })

  it('leave a tool out that imitates the changed name of another', () => {
    const changed = (toolNames('s', ['a.b']).get('a.b') ?? '').slice('s__'.length)
    const names = toolNames('s', ['a.b', changed])
    expect(names.get(changed)).toBe(`s__${changed}`)
    expect(names.has('a.b')).toBe(false)
  })

  it('are never those of the own tools', () => {
    for (const name of Object.keys(OPERATION_TOOLS)) expect(name).not.toContain('__')
  })
})
