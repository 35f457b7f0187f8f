import { DOCUMENTATION } from './documentation.ts'
import { JOURNAL } from './journal.ts'
import { KEYS } from './keys.ts'
import { LOGS } from './logs.ts'
import { SESSION } from './session.ts'
import { STATS } from './stats.ts'
import { USERS } from './users.ts'

/** Every operation of the management plane by its name, which is its `operationId`. */
export const OPERATIONS = { ...SESSION, ...KEYS, ...LOGS, ...STATS, ...USERS, ...JOURNAL, ...DOCUMENTATION } as const

export type Operations = typeof OPERATIONS
export type OperationName = keyof Operations
