import type { Options } from './prices.ts'
import { objectOf } from './rows.ts'

/** Options that decide which groups a token of the group "auto" uses. */
export const GROUP_OPTIONS = ['AutoGroups', 'UserUsableGroups', 'group_ratio_setting.group_special_usable_group']

/** The groups that new-api tries for a token of the group "auto": those of `AutoGroups` that a user of this group may use. */
export function autoGroupsOf(userGroup: string, options: Options): string[] {
  const stored = options.get('UserUsableGroups') ?? ''
  const usable = new Set(stored === '' ? ['default', 'vip'] : Object.keys(objectOf(stored)))
  const special = objectOf(options.get('group_ratio_setting.group_special_usable_group') ?? '')[userGroup]
  for (const rule of Object.keys(typeof special === 'object' && special !== null ? special : {})) {
    if (rule.startsWith('-:')) usable.delete(rule.slice(2))
    else usable.add(rule.replace(/^\+:/, ''))
  }
  usable.add(userGroup)
  return listed(options.get('AutoGroups') ?? '').filter((group) => usable.has(group))
}

function listed(source: string): string[] {
  if (source === '') return ['default']
  try {
    const groups: unknown = JSON.parse(source)
    return Array.isArray(groups) ? groups.filter((group): group is string => typeof group === 'string') : []
  } catch {
    return []
  }
}
