import { describe, expect, it } from 'vitest'
import { Remarks } from '../../../src/cli/import/draft.ts'
import { fromNewApi } from '../../../src/cli/import/new-api/new-api.ts'
import type { Row, Table } from '../../../src/cli/import/new-api/rows.ts'

interface Imported {
  readonly keys: ReadonlyArray<{ readonly models?: readonly string[] }>
  readonly remarks: Remarks
}

describe('tokens of the group "auto"', () => {
  const channel = (id: number, group: string, models: string): Row => ({
    id,
    group,
    models,
    type: 1,
    name: group,
    key: `sk-${group}`,
    status: 1,
  })
  const channels = [channel(1, 'default', 'gpt-4o-mini'), channel(2, 'vip', 'o1-pro'), channel(3, 'staff', 'o3')]

  /** Imports a token of the group "auto", of a user of `group`. */
  function imported(group: string, options: Readonly<Record<string, unknown>> = {}): Imported {
    const remarks = new Remarks()
    const { keys } = fromNewApi(
      {
        from: 'new-api.sql',
        tables: new Map<Table, readonly Row[]>([
          ['channels', channels],
          ['users', [{ id: 1, username: 'bob', status: 1, group }]],
          ['tokens', [{ id: 1, user_id: 1, key: 'abc', status: 1, expired_time: -1, group: 'auto' }]],
          ['options', Object.entries(options).map(([key, value]) => ({ key, value: JSON.stringify(value) }))],
        ]),
      },
      0,
      remarks,
    )
    return { keys: (keys ?? []) as Imported['keys'], remarks }
  }

  const modelsOf = (group: string, options?: Readonly<Record<string, unknown>>): unknown =>
    imported(group, options).keys.map(({ models }) => models)

  it('use the group "default" where no others are stored, and a remark says so', () => {
    const { keys, remarks } = imported('default')
    expect(keys).toMatchObject([{ models: ['gpt-4o-mini'] }])
    const changed = new Map(remarks.changed.map(({ path, reason }) => [path, reason]))
    expect(changed.get('tokens[id=1].group')).toContain('"default"')
  })

  it('use the automatic groups that their user may use', () => {
    const AutoGroups = ['vip', 'default', 'staff']
    expect(modelsOf('default', { AutoGroups })).toEqual([['gpt-4o-mini', 'o1-pro']])
    expect(modelsOf('default', { AutoGroups, UserUsableGroups: { default: '' } })).toEqual([['gpt-4o-mini']])
    expect(modelsOf('staff', { AutoGroups, UserUsableGroups: { default: '' } })).toEqual([['gpt-4o-mini', 'o3']])
  })

  it('follow the rules for the group of their user', () => {
    const special = (rules: Readonly<Record<string, string>>) => ({
      AutoGroups: ['default', 'vip', 'staff'],
      'group_ratio_setting.group_special_usable_group': { default: rules },
    })
    expect(modelsOf('default', special({ '-:vip': '' }))).toEqual([['gpt-4o-mini']])
    expect(modelsOf('default', special({ '-:vip': '', '+:staff': '' }))).toEqual([['gpt-4o-mini', 'o3']])
    expect(modelsOf('vip', special({ '-:vip': '' }))).toEqual([['gpt-4o-mini', 'o1-pro']])
  })

  it('become no key without such a group', () => {
    const { keys, remarks } = imported('default', { AutoGroups: ['staff'] })
    expect(keys).toEqual([])
    expect(remarks.lost.map(({ path }) => path)).toContain('tokens[id=1].model_limits')
  })

  it('are no reason to name the options of groups as not read', () => {
    const { remarks } = imported('default', { AutoGroups: ['default'], UserUsableGroups: { default: '' } })
    expect(remarks.lost.map(({ path }) => path)).not.toContain('options')
  })
})
