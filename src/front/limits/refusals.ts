import { GatewayError } from '../../shared/core/errors.ts'
import type { Refusal } from './leased-limit.ts'
import type { Limit } from './limit.ts'

/** Money may be paid into a wallet at any time: the fronts hear of it within a second. */
const WALLET_RETRY_S = 60

const OWNERS: Readonly<Record<Limit['owner'], string>> = {
  'API key': 'API key',
  user: 'user',
  key: 'API key',
  member: 'member of the enterprise',
  department: 'department',
  enterprise: 'enterprise',
  wallet: 'enterprise',
}

/** Names whose limit it was and when to come back. */
export function limitRefusal(
  { owner, holderId, measure, lease }: Limit,
  meanDurationMs: number,
  refusal: Refusal,
  nowMs: number,
  amount = 1,
): GatewayError {
  const whose = `This ${nameOf(owner, holderId)}`
  if (lease.kind === 'concurrency') {
    return new GatewayError('CONCURRENCY_EXCEEDED', {
      message: `${whose} may run ${lease.limit} requests at the same time. Try again when one has finished.`,
      // With n requests under way, one slot becomes free every nth of the time that a request takes.
      retryAfterSeconds: Math.max(1, meanDurationMs / lease.limit / 1000),
    })
  }
  const isTokens = measure === 'tokens'
  const wait = Math.max(1, Math.ceil((refusal.retryAtMs - nowMs) / 1000))
  const needs = isTokens && amount > 1 ? `, and this request may need ${Math.ceil(amount)}` : ''
  return new GatewayError(isTokens ? 'TPM_EXCEEDED' : 'RPM_EXCEEDED', {
    message: `${whose} may use ${lease.limit} ${isTokens ? 'tokens' : 'requests'} per minute${needs}. Try again in ${wait} s.`,
    retryAfterSeconds: wait,
  })
}

function nameOf(owner: Limit['owner'], holderId: string | null): string {
  return holderId === null ? OWNERS[owner] : `${OWNERS[owner]} (${holderId})`
}

export interface BudgetNeed {
  readonly amount: number
  /** Unix milliseconds. */
  readonly renewedMs: number
  readonly nowMs: number
}

/** Names whose budget does not cover what a request may need, and when there is a new one. */
export function budgetRefusal(
  { owner, holderId, models, measure, lease }: Limit,
  refusal: Refusal,
  need: BudgetNeed,
): GatewayError {
  if (refusal.isUnknown === true) return new GatewayError('BUDGET_UNKNOWN', { retryAfterSeconds: 1 })
  const { amount, renewedMs, nowMs } = need
  const most = measure === 'money' ? `cost ${amount} micro-units` : `need ${amount} tokens`
  if (owner === 'wallet') {
    return new GatewayError('BUDGET_EXHAUSTED', {
      message: `What is left in the wallet of this enterprise does not cover this request, which may ${most}.`,
      retryAfterSeconds: WALLET_RETRY_S,
    })
  }
  const what = models === null ? '' : ` for ${models.join(', ')}`
  const limit = measure === 'money' ? `${lease.limit} micro-units` : `${lease.limit} tokens`
  return new GatewayError('BUDGET_EXHAUSTED', {
    message:
      `What is left of the ${limit} a month of this ${nameOf(owner, holderId)}${what} does not cover this request, which may ${most}. ` +
      `The next month begins at ${new Date(renewedMs).toISOString()}.`,
    retryAfterSeconds: Math.max(1, (renewedMs - nowMs) / 1000),
  })
}
