import type { ReactNode } from 'react'
import { Badge } from '../../parts/badge.tsx'
import { useWords } from '../../words/index.ts'
import type { ServerTool, ToolServer } from './tool-calls.ts'

const SERVER_BADGES = {
  active: ['good', 'check'],
  disabled: ['plain', 'power'],
  unreadable: ['bad', 'alert'],
  shadowed: ['warn', 'alert'],
} as const

export function ServerState({ state }: Pick<ToolServer, 'state'>): ReactNode {
  const t = useWords('tools')
  const [tone, icon] = SERVER_BADGES[state]
  return (
    <Badge tone={tone} icon={icon} title={t(`about.${state}`)}>
      {t(`states.${state}`)}
    </Badge>
  )
}

const TOOL_BADGES = {
  allowed: ['good', 'check'],
  held: ['bad', 'alert'],
  waiting: ['warn', 'clock'],
  gone: ['plain', 'dash'],
} as const

export function ToolState({ state }: Pick<ServerTool, 'state'>): ReactNode {
  const t = useWords('tools')
  const [tone, icon] = TOOL_BADGES[state]
  return (
    <Badge tone={tone} icon={icon} title={t(`toolAbout.${state}`)}>
      {t(`toolStates.${state}`)}
    </Badge>
  )
}
